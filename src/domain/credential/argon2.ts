/** Cost parameters of an argon2 hash (RFC 9106 §3.1): m in KiB, t and p. */
export type Argon2Cost = {
  readonly memory: number
  readonly passes: number
  readonly lanes: number
}

/** Allowed lengths. RFC 9106 §3.1 allows others, but the verifying libraries don't. */
const saltBytes = { min: 8, max: 64 }
const outputBytes = { min: 12, max: 64 }

const phcFormat =
  /^\$argon2(?:id|i|d)\$v=19\$m=([1-9]\d*),t=([1-9]\d*),p=([1-9]\d*)\$([^$]+)\$([^$]+)$/

/**
 * Parses an argon2 hash in PHC string format. Returns undefined if the parameters are out of range.
 */
export function parseArgon2(hash: string): Argon2Cost | undefined {
  const [, m, t, p, salt = "", output = ""] = phcFormat.exec(hash) ?? []
  const [memory, passes, lanes] = [Number(m), Number(t), Number(p)]
  const isWhole = isBase64(salt, saltBytes) && isBase64(output, outputBytes)
  // RFC 9106 §3.1: each lane has at least eight blocks.
  return isWhole && memory >= 8 * lanes ? { memory, passes, lanes } : undefined
}

/** Whether a text is the unpadded, canonical base64 encoding of `min` to `max` bytes. */
function isBase64(text: string, { min, max }: { readonly min: number; readonly max: number }) {
  const bytes = Buffer.from(text, "base64")
  const isCanonical = bytes.toString("base64").replace(/=+$/, "") === text
  return isCanonical && bytes.length >= min && bytes.length <= max
}
