/** What a hash of argon2 costs to check (RFC 9106 §3.1): m in KiB, t and p. */
export type Argon2Cost = {
  readonly memory: number
  readonly passes: number
  readonly lanes: number
}

/** RFC 9106 §3.1 allows other lengths, the libraries that check them don't. */
const saltBytes = { min: 8, max: 64 }
const outputBytes = { min: 12, max: 64 }

const form = /^\$argon2(?:id|i|d)\$v=19\$m=([1-9]\d*),t=([1-9]\d*),p=([1-9]\d*)\$([^$]+)\$([^$]+)$/

/** Reads a hash of argon2 in the PHC string format; undefined for what nobody could compute. */
export function readArgon2(hash: string): Argon2Cost | undefined {
  const [, m, t, p, salt = "", output = ""] = form.exec(hash) ?? []
  const [memory, passes, lanes] = [Number(m), Number(t), Number(p)]
  const isWhole = isBase64(salt, saltBytes) && isBase64(output, outputBytes)
  // RFC 9106 §3.1: of each lane there are at least eight blocks.
  return isWhole && memory >= 8 * lanes ? { memory, passes, lanes } : undefined
}

/** Whether a text is what so many bytes are written as: without padding, and no other spelling. */
function isBase64(text: string, { min, max }: { readonly min: number; readonly max: number }) {
  const bytes = Buffer.from(text, "base64")
  const isCanonical = bytes.toString("base64").replace(/=+$/, "") === text
  return isCanonical && bytes.length >= min && bytes.length <= max
}
