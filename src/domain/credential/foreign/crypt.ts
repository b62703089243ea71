import { createHash } from "node:crypto"
import { runRounds } from "./rounds.ts"

const letters = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** Encodes bytes as crypt(3) does: 24 bits at a time, lowest six bits first. */
export function crypt64(bytes: Uint8Array, order: readonly (readonly number[])[]): string {
  let text = ""
  for (const group of order) {
    let value = group.reduce((sum, at) => sum * 256 + (bytes[at] ?? 0), 0)
    for (let count = 0; count < Math.ceil((group.length * 8) / 6); count++) {
      text += letters[value % 64]
      value = Math.floor(value / 64)
    }
  }
  return text
}

const digest = (algorithm: string, ...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash(algorithm)
  for (const part of parts) hash.update(part)
  return hash.digest()
}

const repeatBytes = (bytes: Uint8Array, length: number): Buffer =>
  Buffer.concat(Array(Math.ceil(length / bytes.length) || 0).fill(bytes)).subarray(0, length)

/** The byte order of `$1$` hashes. */
const md5Order = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5], [11]] as const

/** Computes Poul-Henning Kamp's md5crypt (`$1$`), as the C library does. Returns the last field. */
export async function md5Crypt(plain: string, salt: string): Promise<string> {
  const [key, seed] = [Buffer.from(plain), Buffer.from(salt)]
  const alternate = digest("md5", key, seed, key)
  const bits: Buffer[] = []
  for (let left = key.length; left > 0; left >>= 1) {
    bits.push(left & 1 ? Buffer.from([0]) : key.subarray(0, 1))
  }
  const first = digest(
    "md5",
    key,
    Buffer.from("$1$"),
    seed,
    repeatBytes(alternate, key.length),
    ...bits,
  )
  const last = await runRounds(1000, first, (before, round) =>
    digest(
      "md5",
      round % 2 ? key : before,
      ...(round % 3 ? [seed] : []),
      ...(round % 7 ? [key] : []),
      round % 2 ? before : key,
    ),
  )
  return crypt64(last, md5Order)
}

/** Byte orders of Ulrich Drepper's "Unix crypt using SHA-256 and SHA-512". */
const shaOrders = {
  sha256: [...rotatedOrder(10, { step: 10, by: 21, of: 30 }), [31, 30]],
  sha512: [...rotatedOrder(21, { step: 21, by: 22, of: 63 }), [63]],
} as const

type RotationOptions = { readonly step: number; readonly by: number; readonly of: number }

function rotatedOrder(
  count: number,
  { step, by, of }: RotationOptions,
): readonly (readonly number[])[] {
  return Array.from({ length: count }, (_, at) => {
    const from = (at * by) % of
    return [from, (from + step) % of, (from + 2 * step) % of]
  })
}

/** Computes sha-crypt (`$5$`, `$6$`). Returns the last field. */
export async function shaCrypt(
  algorithm: "sha256" | "sha512",
  plain: string,
  { salt, rounds }: { readonly salt: string; readonly rounds: number },
): Promise<string> {
  const [key, seed] = [Buffer.from(plain), Buffer.from(salt)]
  const alternate = digest(algorithm, key, seed, key)
  const bits: Buffer[] = []
  for (let left = key.length; left > 0; left >>= 1) bits.push(left & 1 ? alternate : key)
  const first = digest(algorithm, key, seed, repeatBytes(alternate, key.length), ...bits)
  const keys = repeatBytes(digest(algorithm, ...Array(key.length).fill(key)), key.length)
  const seeds = digest(algorithm, ...Array(16 + (first[0] ?? 0)).fill(seed)).subarray(
    0,
    seed.length,
  )
  const last = await runRounds(rounds, first, (before, round) =>
    digest(
      algorithm,
      round % 2 ? keys : before,
      ...(round % 3 ? [seeds] : []),
      ...(round % 7 ? [keys] : []),
      round % 2 ? before : keys,
    ),
  )
  return crypt64(last, shaOrders[algorithm])
}

/** Computes the portable hash of phpass (`$P$`, `$H$`) and of Drupal 7 (`$S$`), in full length. */
export async function phpass(
  algorithm: "md5" | "sha512",
  plain: string,
  { salt, rounds }: { readonly salt: string; readonly rounds: number },
): Promise<string> {
  const key = Buffer.from(plain)
  const first = digest(algorithm, Buffer.from(salt), key)
  const last = await runRounds(rounds, first, (before) => digest(algorithm, before, key))
  const order = Array.from({ length: Math.ceil(last.length / 3) }, (_, at) =>
    [at * 3 + 2, at * 3 + 1, at * 3].filter((each) => each < last.length),
  )
  return crypt64(last, order)
}

/** Number of rounds that a character encodes in phpass and Drupal 7. */
export const roundsOf = (letter: string): number => 2 ** letters.indexOf(letter)
