import type { Random } from "../../kernel/crypto/random.ts"

/** RFC 8628 §6.1: without vowels, so that codes form no words, and without similar characters. */
const codeLetters = "BCDFGHJKLMNPQRSTVWXZ"
const halfLength = 4

/** A code that users can type, in the form that is compared: one of 20^8. */
export function generateUserCode(random: Random): string {
  // Bytes from 240 would make the first letters more likely.
  const fair = Math.floor(256 / codeLetters.length) * codeLetters.length
  let code = ""
  while (code.length < 2 * halfLength) {
    for (const byte of random.bytes(4 * halfLength)) {
      if (byte < fair && code.length < 2 * halfLength)
        code += codeLetters[byte % codeLetters.length]
    }
  }
  return code
}

/**
 * A typed code in the form that is compared: without dash and spaces, in upper case. Undefined if
 * it can't be a code.
 */
export function parseUserCode(typed: string): string | undefined {
  const code = typed.toUpperCase().replace(/[\s\-–—.]/g, "")
  const hasOnlyLetters = [...code].every((letter) => codeLetters.includes(letter))
  return hasOnlyLetters && code.length === 2 * halfLength ? code : undefined
}

/** The code as users see it: XXXX-XXXX. */
export const formatUserCode = (code: string): string =>
  `${code.slice(0, halfLength)}-${code.slice(halfLength, 2 * halfLength)}`
