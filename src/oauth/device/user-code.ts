import type { Random } from "../../kernel/crypto/random.ts"

/** RFC 8628 §6.1: no vowels, so no words, and nothing that looks like something else. */
const letters = "BCDFGHJKLMNPQRSTVWXZ"
const half = 4

/** A code that a person can type, as it is compared: one of 20^8. */
export function newUserCode(random: Random): string {
  // The bytes from 240 on would make the first letters likelier.
  const fair = Math.floor(256 / letters.length) * letters.length
  let code = ""
  while (code.length < 2 * half) {
    for (const byte of random.bytes(4 * half)) {
      if (byte < fair && code.length < 2 * half) code += letters[byte % letters.length]
    }
  }
  return code
}

/**
 * A code as it is compared: people leave out the dash, type small letters, and add spaces.
 * Undefined for what can be no code.
 */
export function userCodeOf(typed: string): string | undefined {
  const code = typed.toUpperCase().replace(/[\s\-–—.]/g, "")
  const known = [...code].every((letter) => letters.includes(letter))
  return known && code.length === 2 * half ? code : undefined
}

/** A code as people see it: XXXX-XXXX. */
export const shownUserCode = (code: string): string =>
  `${code.slice(0, half)}-${code.slice(half, 2 * half)}`
