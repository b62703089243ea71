import type { Conversion } from "./entry.ts"

/** Base64 without padding, as in PHC strings. */
export const withoutPadding = (base64: string): string => base64.replace(/=+$/, "")

/** A text salt in the form of PHC strings. */
export const encodeSalt = (text: string): string =>
  withoutPadding(Buffer.from(text).toString("base64"))

/**
 * A PBKDF2 hash as a PHC string. `digest` is the hash function in any product's spelling; salt and
 * output are base64.
 */
export function pbkdf2(
  digest: string,
  { rounds, salt, output }: { rounds: number; salt: string; output: string },
): Conversion {
  const [name = ""] = /sha-?(1|224|256|384|512)/i.exec(digest) ?? []
  if (name === "") return { reason: `PBKDF2 with ${digest} is not supported` }
  const known = name.toLowerCase().replace("-", "")
  return { value: `$pbkdf2-${known}$${rounds}$${withoutPadding(salt)}$${withoutPadding(output)}` }
}

type SaltedHash = {
  /** The name in `node:crypto`. */
  readonly algorithm: string
  readonly place: "prefix" | "suffix"
  readonly salt: Uint8Array
  readonly output: Uint8Array
}

const hashAlgorithms: readonly string[] = ["md5", "sha1", "sha256", "sha512"]

/** A hash of a salt and a password; the salt can contain any bytes. */
export function saltedHash({ algorithm, place, salt, output }: SaltedHash): Conversion {
  if (!hashAlgorithms.includes(algorithm))
    return { reason: `the hash algorithm ${algorithm} is not supported` }
  const hex = Buffer.from(output).toString("hex")
  if (algorithm === "md5" && salt.length === 0) return { value: hex }
  const base64 = Buffer.from(salt).toString("base64")
  return { value: `$${algorithm}salted-${place}-b64$${withoutPadding(base64)}$${hex}` }
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

/** RFC 4648 §6, without padding. */
export function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("")
  const groups = bits.match(/.{1,5}/g) ?? []
  return groups.map((group) => alphabet[Number.parseInt(group.padEnd(5, "0"), 2)]).join("")
}

type TotpParameters = { readonly secret: string; readonly digits: number; readonly seconds: number }

/** The secret of an authenticator app. Only secrets with standard parameters can be imported. */
export function totpSecret({ secret, digits, seconds }: TotpParameters, hash = "sha1"): Conversion {
  const isUsual = digits === 6 && seconds === 30 && /sha-?1$/i.test(hash)
  if (isUsual) return { value: secret.replace(/\s/g, "").toUpperCase() }
  return {
    reason: `codes with ${digits} digits, a period of ${seconds} s and ${hash} are not supported`,
  }
}
