/** Separates the texts of a document. A match across two texts is only an extra candidate. */
const separator = "\n"

/**
 * Longer values are searched by their first trigrams: hardly any other row contains all of them.
 */
const maxTrigrams = 16

/**
 * The indexed document of a row: its texts in ASCII lower case, without those that another one
 * contains. Folded columns often equal their raw column, so this is a third of the row.
 */
export function createDocument(texts: readonly (string | null)[]): string {
  const distinct = new Set(texts.map((text) => normalize(text ?? "")))
  const longestFirst = [...distinct].sort((one, other) => other.length - one.length)
  const keptTexts: string[] = []
  for (const text of longestFirst) {
    if (text !== "" && !keptTexts.some((other) => other.includes(text))) keptTexts.push(text)
  }
  return keptTexts.join(separator)
}

/**
 * An FTS5 query for all documents with a text that contains the value, and few others. Undefined if
 * the value has no trigram.
 */
export function trigramQuery(value: string): string | undefined {
  const characters = [...normalize(value)]
  const trigrams = new Set<string>()
  for (let at = 0; at + 3 <= characters.length && trigrams.size < maxTrigrams; at++) {
    trigrams.add(characters.slice(at, at + 3).join(""))
  }
  if (trigrams.size === 0) return undefined
  // Without positions in the index, each trigram is a separate term.
  return [...trigrams].map((each) => `"${each.replaceAll('"', '""')}"`).join(" AND ")
}

/**
 * Normalizes a text so that containment is preserved. FTS5 skips NUL in a document, and ends a
 * query there.
 */
export const normalize = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll("\0", "")
    .replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
