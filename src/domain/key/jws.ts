import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from "node:crypto"
import { memoizeByObject } from "../../kernel/lru.ts"
import { availableCores } from "../../runtime/cores.ts"
import type { Algorithm, PublicJwk } from "./model.ts"

export type Claims = Readonly<Record<string, unknown>>

/** The key objects of one key. */
export type PrivateKey = {
  readonly id: string
  readonly algorithm: Algorithm
  readonly key: KeyObject
}
export type PublicKey = { readonly algorithm: Algorithm; readonly key: KeyObject }

export const privateKeyOf = (jwk: object): KeyObject =>
  createPrivateKey({ key: { ...jwk }, format: "jwk" })

export const publicKeyOf = (jwk: PublicJwk): KeyObject =>
  createPublicKey({ key: { ...jwk }, format: "jwk" })

/**
 * Signs a JWT. RSA signatures are computed off the event loop if several cores are available.
 * Others are not: switching threads costs more than the signature (measured with ES256 on one core:
 * node:crypto 40,000/s synchronously, WebCrypto 21,000/s serially). Nor is RSA on a single core,
 * because responses that complete separately are also written to disk separately.
 */
export function signJwt(
  signingKey: PrivateKey,
  claims: Claims,
  typ: string,
): string | Promise<string> {
  const { algorithm, key } = signingKey
  const input = `${encodedHeaderOf(signingKey, typ)}.${encode(claims)}`
  const signed = (signature: Buffer) => `${input}.${signature.toString("base64url")}`
  const verifyInput = [
    digests[algorithm],
    Buffer.from(input),
    { key, dsaEncoding: "ieee-p1363" },
  ] as const
  if (!algorithm.startsWith("RS") || availableCores() === 1) return signed(sign(...verifyInput))
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  sign(...verifyInput, (cause, signature) => (cause ? reject(cause) : resolve(signed(signature))))
  return promise
}

const headersByKey = memoizeByObject((_: PrivateKey) => new Map<string, string>())

/** The encoded header of a JWT; the same for each type of token that a key signs. */
function encodedHeaderOf(signingKey: PrivateKey, typ: string): string {
  const headers = headersByKey(signingKey)
  const head = headers.get(typ) ?? encode({ alg: signingKey.algorithm, kid: signingKey.id, typ })
  headers.set(typ, head)
  return head
}

/**
 * Whether a JWS signature is valid for a key. Verified synchronously with node:crypto, also for
 * RSA, because every call with a JWT waits for it (measured, serial: ES256 20,000/s, RS256
 * 64,000/s; through jose 8,000/s and 21,000/s).
 */
export const isSignedBy = (
  { algorithm, key }: PublicKey,
  input: string,
  signature: Uint8Array,
): boolean =>
  verify(digests[algorithm], Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }, signature)

/** RFC 7518 §3.1; Ed25519 includes its own hash (RFC 8037 §3.1). */
const digests = {
  RS256: "sha256",
  RS384: "sha384",
  RS512: "sha512",
  ES256: "sha256",
  ES384: "sha384",
  ES512: "sha512",
  EdDSA: null,
} as const satisfies Record<Algorithm, string | null>

/**
 * OpenID Connect Core §3.1.3.6: the left half of the hash for an algorithm, for at_hash and c_hash
 * of ID tokens signed with it. Ed25519 uses SHA-512 (RFC 8032 §5.1).
 */
export function halfHash(algorithm: Algorithm, text: string): string {
  const digest = hash(digests[algorithm] ?? "sha512", text, "buffer")
  return digest.subarray(0, digest.length / 2).toString("base64url")
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url")
