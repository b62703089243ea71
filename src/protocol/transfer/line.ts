import { createStateCollector, type OrganizationPiece, splitByRank, toPiece } from "./order.ts"

/** A line of a file, or the rest of it, with its number. */
export type TransferLine = { readonly number: number; readonly text: string }

/** Opens a file from its beginning. */
type OpenFile = () => AsyncIterable<string>

/**
 * The lines of a file in the order in which they can be imported; see `kinds`. Sorted files, as
 * `latchkey export` writes them, are read twice, others once for each kind; neither is kept in
 * memory. Invalid lines come first, unchanged.
 */
export async function* linesInOrder(open: OpenFile): AsyncGenerator<TransferLine> {
  const { places: linesByRank, states, isInOrder: isSorted } = await scan(open())
  if (isSorted) {
    yield* numberLines(open())
    return
  }
  for (const [rank, numbers] of [...linesByRank].toSorted(([a], [b]) => a - b)) {
    const lineNumbers = numbers.values()
    let { value: next } = lineNumbers.next()
    for await (const line of numberLines(open())) {
      if (line.number !== next) continue
      const text = extractPart(line.text, { rank, states })
      if (text !== undefined) yield { ...line, text }
      next = lineNumbers.next().value
      if (next === undefined) break
    }
  }
}

async function* numberLines(lines: AsyncIterable<string>): AsyncGenerator<TransferLine> {
  let number = 0
  for await (const text of lines) {
    number++
    if (text.trim() !== "") yield { number, text }
  }
}

const invalidRank = -1

/** Collects the lines that contain each kind, and whether the file is already sorted. */
async function scan(lines: AsyncIterable<string>) {
  const states = createStateCollector()
  const linesByRank = new Map<number, number[]>()
  let [last, isSorted] = [0, true]
  for await (const { number, text } of numberLines(lines)) {
    const piece = parsePiece(text)
    if (piece) states.collect(piece)
    const ranks = piece ? [...splitByRank(piece).keys()] : [invalidRank]
    for (const rank of ranks) {
      const numbersOfRank = linesByRank.get(rank) ?? []
      if (numbersOfRank.length === 0) linesByRank.set(rank, numbersOfRank)
      numbersOfRank.push(number)
    }
    if (!piece) continue
    isSorted &&= Math.min(...ranks) >= last && states.isUnaffected(piece)
    last = Math.max(last, ...ranks)
  }
  return { places: linesByRank, states, isInOrder: isSorted }
}

type PartContext = {
  readonly rank: number
  readonly states: ReturnType<typeof createStateCollector>
}

/** The part of a line that belongs to one kind; undefined if that is elsewhere. */
function extractPart(text: string, { rank, states }: PartContext): string | undefined {
  const piece = parsePiece(text)
  if (!piece) return text
  const part = splitByRank(states.withState(piece)).get(rank)
  return part && JSON.stringify(part)
}

function parsePiece(text: string): OrganizationPiece | undefined {
  try {
    return toPiece(JSON.parse(text))
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw cause
  }
}
