/** Where somebody waits. */
export type Place = {
  /** Those with whom they stand in one line, which takes turns with others; "" without a word. */
  readonly line?: string | undefined
  /** How much reason there is to let others of the line go first. */
  readonly weight?: number | undefined
}

export type Queue = (<T>(work: () => Promise<T>, place?: Place) => Promise<T>) & {
  /** How many things are being done, and how many wait for their turn. */
  readonly load: () => QueueLoad
}

export type QueueLoad = { readonly busy: number; readonly waiting: number }

/** Somebody who waits for a turn. */
type Waiting = PromiseWithResolvers<void> & { readonly weight: number }

/**
 * Does so many things at once, and the others in turn: one of each line that waits, the lightest,
 * then the next of each, so that no line is held up by how many stand in another. Who comes when as
 * many as may are waiting in their line is refused with `fullError`, or takes the place of the last
 * one who is heavier.
 */
export function queueOf(
  lanes: number | (() => number),
  waitingMax: number,
  fullError: () => Error,
): Queue {
  const lanesNow = typeof lanes === "number" ? () => lanes : lanes
  /** None of them empty; the first is the one whose turn it is. */
  const lines = new Map<string, Waiting[]>()
  let busy = 0
  const turn = async ({ line = "", weight = 0 }: Place) => {
    if (busy < lanesNow()) {
      busy++
      return
    }
    const waiting = lines.get(line) ?? []
    if (waiting.length >= waitingMax) makeRoom(waiting, weight, fullError)
    lines.set(line, waiting)
    // The lane is handed over, never freed in between: nobody can slip in before who waits.
    const place: Waiting = { ...Promise.withResolvers<void>(), weight }
    const heavier = waiting.findIndex((other) => other.weight > weight)
    waiting.splice(heavier < 0 ? waiting.length : heavier, 0, place)
    await place.promise
  }
  const leave = () => {
    const [first] = lines
    if (!first) {
      busy--
      return
    }
    const [line, waiting] = first
    const next = waiting.shift()
    // Behind all others: the order of a map is that in which its keys were set.
    lines.delete(line)
    if (waiting.length > 0) lines.set(line, waiting)
    next?.resolve()
  }
  const run = async <T>(work: () => Promise<T>, place: Place = {}): Promise<T> => {
    await turn(place)
    try {
      return await work()
    } finally {
      leave()
    }
  }
  const waitingNow = () => [...lines.values()].reduce((sum, { length }) => sum + length, 0)
  return Object.assign(run, { load: () => ({ busy, waiting: waitingNow() }) })
}

/** Sends the last one of a full line away where they are heavier than who comes; else refuses. */
function makeRoom(waiting: Waiting[], weight: number, fullError: () => Error): void {
  const last = waiting.at(-1)
  if (!last || last.weight <= weight) throw fullError()
  waiting.pop()
  last.reject(fullError())
}
