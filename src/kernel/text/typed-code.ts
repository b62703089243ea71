/** What people and their programs put between groups of characters: 123 456, 123-456. */
const between = /[\s\p{Pd}]/gu

/**
 * What somebody may have meant who typed a code: as it is, with capitals for small letters, and
 * without what groups its characters. Codes may have hyphens of their own.
 */
export function typedCodes(given: string): readonly string[] {
  const typed = given.trim()
  const joined = typed.replace(between, "")
  return [...new Set([typed, typed.toUpperCase(), joined, joined.toUpperCase()])]
}

/** A code that has digits alone. */
export const typedDigits = (given: string): string => given.replace(between, "")
