/** Separators between groups of characters: 123 456, 123-456. */
const separators = /[\s\p{Pd}]/gu

/**
 * The codes that a user may have meant: unchanged, in upper case, and without separators. Codes can
 * contain hyphens of their own.
 */
export function listCodeSpellings(input: string): readonly string[] {
  const variants = input.trim()
  const joined = variants.replace(separators, "")
  return [...new Set([variants, variants.toUpperCase(), joined, joined.toUpperCase()])]
}

/** A code of digits only, without separators. */
export const withoutSeparators = (input: string): string => input.replace(separators, "")
