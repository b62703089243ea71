import type { Made } from "./entry.ts"

/** Base64 without what fills it up, as PHC strings have it. */
export const bare = (base64: string): string => base64.replace(/=+$/, "")

/** A salt that is text, as PHC strings have salts. */
export const saltOf = (text: string): string => bare(Buffer.from(text).toString("base64"))

/** `digest` names the hash of PBKDF2 in any product's words; salt and output are base64. */
export function pbkdf2(
  digest: string,
  { rounds, salt, output }: { rounds: number; salt: string; output: string },
): Made {
  const [name = ""] = /sha-?(1|224|256|384|512)/i.exec(digest) ?? []
  if (name === "") return { why: `PBKDF2 with ${digest} isn't understood` }
  const known = name.toLowerCase().replace("-", "")
  return { value: `$pbkdf2-${known}$${rounds}$${bare(salt)}$${bare(output)}` }
}

type Salted = {
  /** As `node:crypto` names it. */
  readonly algorithm: string
  readonly place: "prefix" | "suffix"
  readonly salt: Uint8Array
  readonly output: Uint8Array
}

const sums: readonly string[] = ["md5", "sha1", "sha256", "sha512"]

/** A sum of a salt and a password, whatever bytes the salt has. */
export function salted({ algorithm, place, salt, output }: Salted): Made {
  if (!sums.includes(algorithm)) return { why: `sums by ${algorithm} aren't understood` }
  const hex = Buffer.from(output).toString("hex")
  if (algorithm === "md5" && salt.length === 0) return { value: hex }
  const base64 = Buffer.from(salt).toString("base64")
  return { value: `$${algorithm}salted-${place}-b64$${bare(base64)}$${hex}` }
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

/** RFC 4648 §6, without what fills it up. */
export function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("")
  const groups = bits.match(/.{1,5}/g) ?? []
  return groups.map((group) => alphabet[Number.parseInt(group.padEnd(5, "0"), 2)]).join("")
}

type Totp = { readonly secret: string; readonly digits: number; readonly seconds: number }

/** A secret of an authenticator app, which is taken where its codes are what everybody's are. */
export function totp({ secret, digits, seconds }: Totp, hash = "sha1"): Made {
  const isUsual = digits === 6 && seconds === 30 && /sha-?1$/i.test(hash)
  if (isUsual) return { value: secret.replace(/\s/g, "").toUpperCase() }
  return { why: `codes of ${digits} digits each ${seconds} s by ${hash} aren't understood` }
}
