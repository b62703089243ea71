import { type Piece, pieceOf, ranksOf, statesOf } from "./order.ts"

/** A line of a file, or what is left of it, by its number. */
export type Line = { readonly number: number; readonly text: string }

/** A file, from its beginning. */
type Read = () => AsyncIterable<string>

/**
 * The lines of a file in the order in which they can be taken over, part by part; see `kinds`. A
 * file that is in it, as `latchkey export` writes them, is read twice; any other, once for each
 * kind: neither is held. What can't be read comes first, as it is.
 */
export async function* linesInOrder(read: Read): AsyncGenerator<Line> {
  const { places, states, isInOrder } = await seen(read())
  if (isInOrder) {
    yield* numbered(read())
    return
  }
  for (const [rank, numbers] of [...places].toSorted(([a], [b]) => a - b)) {
    const wanted = numbers.values()
    let { value: next } = wanted.next()
    for await (const line of numbered(read())) {
      if (line.number !== next) continue
      const text = partOf(line.text, { rank, states })
      if (text !== undefined) yield { ...line, text }
      next = wanted.next().value
      if (next === undefined) break
    }
  }
}

async function* numbered(lines: AsyncIterable<string>): AsyncGenerator<Line> {
  let number = 0
  for await (const text of lines) {
    number++
    if (text.trim() !== "") yield { number, text }
  }
}

const unread = -1

/** Which lines have something of each kind, and whether none needs what comes after it. */
async function seen(lines: AsyncIterable<string>) {
  const states = statesOf()
  const places = new Map<number, number[]>()
  let [last, isInOrder] = [0, true]
  for await (const { number, text } of numbered(lines)) {
    const piece = readPiece(text)
    if (piece) states.see(piece)
    const ranks = piece ? [...ranksOf(piece).keys()] : [unread]
    for (const rank of ranks) {
      const known = places.get(rank) ?? []
      if (known.length === 0) places.set(rank, known)
      known.push(number)
    }
    if (!piece) continue
    isInOrder &&= Math.min(...ranks) >= last && states.isSettled(piece)
    last = Math.max(last, ...ranks)
  }
  return { places, states, isInOrder }
}

type Of = { readonly rank: number; readonly states: ReturnType<typeof statesOf> }

/** What a line says of one kind; undefined where that has its place elsewhere. */
function partOf(text: string, { rank, states }: Of): string | undefined {
  const piece = readPiece(text)
  if (!piece) return text
  const part = ranksOf(states.settled(piece)).get(rank)
  return part && JSON.stringify(part)
}

function readPiece(text: string): Piece | undefined {
  try {
    return pieceOf(JSON.parse(text))
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw cause
  }
}
