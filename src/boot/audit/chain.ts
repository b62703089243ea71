import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto"
import type { Signer } from "../../kernel/crypto/secret.ts"
import { parseJwtParts } from "../../protocol/jwt.ts"

/**
 * A tamper-evident log of JSON lines: each line contains the hash of the previous line, and at
 * intervals a seal line signs all lines before it.
 */

/** SHA-256 of a line without its line break, in base64url. */
export const hashOfLine = (line: string): string =>
  createHash("sha256").update(line).digest("base64url")

/** The content of a seal, which is all that is needed to continue the chain. */
export type Seal = {
  readonly instance: string
  /** The position of the last event. */
  readonly position: number
  /** The number of events from the beginning. */
  readonly events: number
  /** The hash of the line before the seal. */
  readonly hash: string
  /** When the seal was created, in seconds (RFC 7519 §4.1.6). */
  readonly iat: number
}

/** RFC 8725 §3.11: an explicit type, so that seals and other signed tokens can't be confused. */
const sealType = "latchkey-seal+jwt"

/** RFC 7638 §3 and RFC 8037 §2: the required members of an Ed25519 public key. */
export type PublicJwk = { readonly crv: string; readonly kty: string; readonly x: string }

/** The public key of a key pair. */
export function publicJwkOf(key: KeyObject): PublicJwk {
  const { crv = "", kty = "", x = "" } = createPublicKey(key).export({ format: "jwk" })
  return { crv, kty, x }
}

/** RFC 7638: the thumbprint of a key, which people can compare. */
export const thumbprintOf = ({ crv, kty, x }: PublicJwk): string =>
  createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest("base64url")

const encodePart = (value: object): string =>
  Buffer.from(JSON.stringify(value)).toString("base64url")

/** A seal line: a JWS (RFC 7515) with EdDSA (RFC 8037 §3.1). */
export function createSealLine({ id, key }: Signer, seal: Seal): string {
  const text = `${encodePart({ alg: "EdDSA", typ: sealType, kid: id })}.${encodePart(seal)}`
  const signature = sign(null, Buffer.from(text), key).toString("base64url")
  return JSON.stringify({ seal: `${text}.${signature}` })
}

/** The content of a seal line, without verifying its signature; undefined for other lines. */
export function parseSeal(line: string): { readonly kid: string; readonly seal: Seal } | undefined {
  const [, jws = ""] = /^\{"seal":"([\w.-]+)"\}$/.exec(line) ?? []
  const [head, body] = parseJwtParts(jws) ?? []
  if (!head || !body) return undefined
  const { alg, typ, kid } = fieldsOf(head)
  const { instance, position, events, hash, iat } = fieldsOf(body)
  if (alg !== "EdDSA" || typ !== sealType || typeof kid !== "string") return undefined
  if (typeof instance !== "string" || typeof hash !== "string") return undefined
  if (typeof position !== "number" || typeof events !== "number") return undefined
  return { kid, seal: { instance, position, events, hash, iat: Number(iat) } }
}

/** Whether a line is a seal signed with this key, which can be public or private. */
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
