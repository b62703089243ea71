/** Separates the texts of a document. A match across two texts is one more row to compare. */
const separator = "\n"

/**
 * Longer values are searched by their first trigrams: nearly no other row contains all of these.
 */
const trigramsMax = 16

/**
 * What is indexed of a row: its texts in lower-case ASCII, without those that another one contains.
 * Folded columns often equal the column that they are made from, so this is a third of the row.
 */
export function documentOf(texts: readonly (string | null)[]): string {
  const distinct = new Set(texts.map((text) => normalized(text ?? "")))
  const longestFirst = [...distinct].sort((one, other) => other.length - one.length)
  const kept: string[] = []
  for (const text of longestFirst) {
    if (text !== "" && !kept.some((other) => other.includes(text))) kept.push(text)
  }
  return kept.join(separator)
}

/**
 * An FTS5 query for the documents of all rows with a text that contains the value, and of few
 * others. Undefined if the value has no trigram.
 */
export function trigramQuery(value: string): string | undefined {
  const characters = [...normalized(value)]
  const trigrams = new Set<string>()
  for (let at = 0; at + 3 <= characters.length && trigrams.size < trigramsMax; at++) {
    trigrams.add(characters.slice(at, at + 3).join(""))
  }
  if (trigrams.size === 0) return undefined
  // Without positions in the index, each trigram is a term of its own.
  return [...trigrams].map((each) => `"${each.replaceAll('"', '""')}"`).join(" AND ")
}

/**
 * A text that contains another one still does after this. FTS5 skips NUL in a document, and ends a
 * query there.
 */
export const normalized = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll("\0", "")
    .replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
