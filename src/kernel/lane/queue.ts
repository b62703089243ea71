/** `weight` is how much reason there is to let others go first. */
export type Queue = (<T>(work: () => Promise<T>, weight?: number) => Promise<T>) & {
  /** How many things are being done, and how many wait for their turn. */
  readonly load: () => QueueLoad
}

export type QueueLoad = { readonly busy: number; readonly waiting: number }

/** Somebody who waits for a turn. */
type Waiting = PromiseWithResolvers<void> & { readonly weight: number }

/**
 * Does so many things at once, and the others in turn, the lighter ones first. Who comes when as
 * many as may are waiting is refused with `fullError`, or takes the place of the last one who is
 * heavier.
 */
export function queueOf(
  lanes: number | (() => number),
  waitingMax: number,
  fullError: () => Error,
): Queue {
  const lanesNow = typeof lanes === "number" ? () => lanes : lanes
  const waiting: Waiting[] = []
  let busy = 0
  const turn = async (weight: number) => {
    if (busy < lanesNow()) {
      busy++
      return
    }
    if (waiting.length >= waitingMax) {
      const last = waiting.at(-1)
      if (!last || last.weight <= weight) throw fullError()
      waiting.pop()
      last.reject(fullError())
    }
    // The lane is handed over, never freed in between: nobody can slip in before who waits.
    const place: Waiting = { ...Promise.withResolvers<void>(), weight }
    const heavier = waiting.findIndex((other) => other.weight > weight)
    waiting.splice(heavier < 0 ? waiting.length : heavier, 0, place)
    await place.promise
  }
  const leave = () => {
    const next = waiting.shift()
    if (next) next.resolve()
    else busy--
  }
  const run = async <T>(work: () => Promise<T>, weight = 0): Promise<T> => {
    await turn(weight)
    try {
      return await work()
    } finally {
      leave()
    }
  }
  return Object.assign(run, { load: () => ({ busy, waiting: waiting.length }) })
}
