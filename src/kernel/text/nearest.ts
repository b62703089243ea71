/** Longer words are no typos, and would take time in proportion to the product of the lengths. */
const maxLength = 64

/**
 * The known word with the smallest edit distance from `word`, for "did you mean"; undefined if all
 * differ by more than a typo.
 */
export function findNearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > maxLength) return undefined
  const ranked = candidates
    .map((candidate) => ({ candidate, edits: editDistance(word, candidate) }))
    .filter(({ candidate, edits: count }) => isNear(word, candidate, count))
  return ranked.sort((a, b) => a.edits - b.edits)[0]?.candidate
}

/** Words with a common beginning are near, however much is missing. */
const minPrefixLength = 3

/** Whether at most a third of the letters differ, or one word is a prefix of the other. */
function isNear(word: string, candidate: string, count: number): boolean {
  if (count * 3 <= Math.max(word.length, candidate.length)) return true
  const [short = "", long = ""] = [word, candidate].toSorted((a, b) => a.length - b.length)
  return short.length >= minPrefixLength && long.startsWith(short)
}

/**
 * Edit distance with insertions, deletions, replacements and swaps of neighbors (optimal string
 * alignment).
 */
function editDistance(from: string, to: string): number {
  let before: number[] = []
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const isEqual = from[row - 1] === to[column - 1]
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      const replace = at(above, column - 1) + (isEqual ? 0 : 1)
      const swap = isSwapped ? at(before, column - 2) + 1 : replace
      const best = Math.min(at(above, column) + 1, at(current, column - 1) + 1, replace, swap)
      current.push(best)
    }
    before = above
    above = current
  }
  return at(above, to.length)
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.MAX_VALUE

/** Truncates a user's input for use in a message. */
export const truncateInput = (text: string): string =>
  text.length > 100 ? `${text.slice(0, 100)}…` : text
