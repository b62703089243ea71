import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto"
import type { Signer } from "../../kernel/crypto/secret.ts"
import { jwtParts } from "../../protocol/jwt.ts"

/**
 * Lines of JSON that nobody changes unseen: each says what the line before hashes to, and every so
 * many a seal is a line of its own, which signs all that stands before it.
 */

/** SHA-256 of a line without its end, in base64url. */
export const hashOfLine = (line: string): string =>
  createHash("sha256").update(line).digest("base64url")

/** What a seal says of the lines before it; whoever goes on from it needs nothing else. */
export type Seal = {
  readonly instance: string
  /** Of the last event. */
  readonly position: number
  /** How many events there are from the beginning. */
  readonly events: number
  /** Of the line before the seal. */
  readonly hash: string
  /** When it was made, in seconds (RFC 7519 §4.1.6). */
  readonly iat: number
}

/** RFC 8725 §3.11: no other signature of ours is taken for it, nor it for another. */
const type = "latchkey-seal+jwt"

/** RFC 7638 §3 and RFC 8037 §2: a public key of Ed25519, with nothing but what it is. */
export type PublicJwk = { readonly crv: string; readonly kty: string; readonly x: string }

/** The public half of a key. */
export function publicJwkOf(key: KeyObject): PublicJwk {
  const { crv = "", kty = "", x = "" } = createPublicKey(key).export({ format: "jwk" })
  return { crv, kty, x }
}

/** RFC 7638: a fingerprint that people compare. */
export const thumbprintOf = ({ crv, kty, x }: PublicJwk): string =>
  createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest("base64url")

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")

/** The line of a seal: a JWS (RFC 7515) by EdDSA (RFC 8037 §3.1). */
export function sealLine({ id, key }: Signer, seal: Seal): string {
  const text = `${part({ alg: "EdDSA", typ: type, kid: id })}.${part(seal)}`
  const signature = sign(null, Buffer.from(text), key).toString("base64url")
  return JSON.stringify({ seal: `${text}.${signature}` })
}

/** What a seal says, before anybody has checked its signature; undefined for other lines. */
export function readSeal(line: string): { readonly kid: string; readonly seal: Seal } | undefined {
  const [, jws = ""] = /^\{"seal":"([\w.-]+)"\}$/.exec(line) ?? []
  const [head, body] = jwtParts(jws) ?? []
  if (!head || !body) return undefined
  const { alg, typ, kid } = fieldsOf(head)
  const { instance, position, events, hash, iat } = fieldsOf(body)
  if (alg !== "EdDSA" || typ !== type || typeof kid !== "string") return undefined
  if (typeof instance !== "string" || typeof hash !== "string") return undefined
  if (typeof position !== "number" || typeof events !== "number") return undefined
  return { kid, seal: { instance, position, events, hash, iat: Number(iat) } }
}

/** Whether a line is a seal by this key, public or private. */
export function isSealedBy(key: KeyObject, line: string): boolean {
  const [, text = "", signature = ""] = /^\{"seal":"([\w-]+\.[\w-]+)\.([\w-]+)"\}$/.exec(line) ?? []
  const isKey = key.asymmetricKeyType === "ed25519"
  const whole = key.type === "private" ? createPublicKey(key) : key
  return isKey && verify(null, Buffer.from(text), whole, Buffer.from(signature, "base64url"))
}

function fieldsOf(json: Buffer): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(json.toString()))
  } catch (cause) {
    if (cause instanceof SyntaxError) return {}
    throw cause
  }
}
