/** What is longer is nobody's slip of the fingers, and costs the product of the lengths. */
const lengthMax = 64

/**
 * The known word that takes the fewest edits to reach from `word`, for "did you mean"; undefined
 * where each takes more edits than a slip of the fingers.
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > lengthMax) return undefined
  const ranked = known
    .map((candidate) => ({ candidate, edits: edits(word, candidate) }))
    .filter(({ candidate, edits: count }) => isNear(word, candidate, count))
  return ranked.sort((a, b) => a.edits - b.edits)[0]?.candidate
}

/** Words that begin alike are near, however much one of them leaves out. */
const beginningMin = 3

/** At most a third of the letters differ, or one word is the beginning of the other. */
function isNear(word: string, candidate: string, count: number): boolean {
  if (count * 3 <= Math.max(word.length, candidate.length)) return true
  const [short = "", long = ""] = [word, candidate].toSorted((a, b) => a.length - b.length)
  return short.length >= beginningMin && long.startsWith(short)
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function edits(from: string, to: string): number {
  let before: number[] = []
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      const replace = at(above, column - 1) + (same ? 0 : 1)
      const swap = swapped ? at(before, column - 2) + 1 : replace
      const best = Math.min(at(above, column) + 1, at(current, column - 1) + 1, replace, swap)
      current.push(best)
    }
    before = above
    above = current
  }
  return at(above, to.length)
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.MAX_VALUE

/** As much of what somebody sent as is told back to them. */
export const shown = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text)
