import { randomBytes } from "node:crypto"

/** Randomness as a dependency: cryptographic in production, seeded in tests. */
export type Random = {
  readonly bytes: (count: number) => Uint8Array
}

export const systemRandom: Random = { bytes: (count) => randomBytes(count) }

/** A high-entropy secret for URLs, codes and tokens: base64url without padding. */
export const randomToken = (random: Random, bytes = 32): string =>
  Buffer.from(random.bytes(bytes)).toString("base64url")
