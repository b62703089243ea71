// Key pairs that are equal in every run, so that signed inputs of the corpus stay valid. They are
// derived from constants and protect nothing.
import {
  checkPrimeSync,
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
} from "node:crypto"

const digest = (text: string): Buffer => createHash("sha512").update(text).digest()

/** RFC 8410 §7: the PKCS #8 prefix of an Ed25519 private key. */
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex")

/** An Ed25519 key pair, whose signatures are deterministic. */
export const edKey = (name: string): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([pkcs8Prefix, digest(name).subarray(0, 32)]),
    format: "der",
    type: "pkcs8",
  })

const exponent = 65_537n

/** A 2048-bit RSA key; the search for its primes starts at known offsets. */
export function rsaKey(): KeyObject {
  const [p, q] = [primeOf("fuzz p", 339), primeOf("fuzz q", 617)]
  const d = inverse(exponent, (p - 1n) * (q - 1n))
  const numbers = {
    n: p * q,
    e: exponent,
    d,
    p,
    q,
    dp: d % (p - 1n),
    dq: d % (q - 1n),
    qi: inverse(q, p),
  }
  const members = Object.entries(numbers).map(([member, value]) => [member, base64Of(value)])
  return createPrivateKey({ key: { kty: "RSA", ...Object.fromEntries(members) }, format: "jwk" })
}

function primeOf(name: string, steps: number): bigint {
  const parts = [digest(`${name} 1`), digest(`${name} 2`)]
  const bytes = Buffer.concat(parts)
  bytes[0] = (bytes[0] ?? 0) | 0xc0
  let candidate = (BigInt(`0x${bytes.toString("hex")}`) | 1n) + 2n * BigInt(steps)
  while ((candidate - 1n) % exponent === 0n || !checkPrimeSync(candidate)) candidate += 2n
  return candidate
}

/** The modular inverse, by Euclid's extended algorithm. */
function inverse(of: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [of % modulus, modulus, 1n, 0n]
  while (a > 1n) [a, b, x, y] = [b % a, a, y - (b / a) * x, x]
  return ((x % modulus) + modulus) % modulus
}

function base64Of(value: bigint): string {
  const hex = value.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex").toString("base64url")
}

export const publicPem = (key: KeyObject): string =>
  createPublicKey(key).export({ format: "pem", type: "spki" }).toString()

const encodePart = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url")

/** An EdDSA JWS (RFC 8037). */
export function signJwt(key: KeyObject, header: object, claims: object): string {
  const text = `${encodePart({ alg: "EdDSA", ...header })}.${encodePart(claims)}`
  return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`
}
