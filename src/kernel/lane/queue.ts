export type Queue = (<T>(work: () => Promise<T>) => Promise<T>) & {
  /** How many things are being done, and how many wait for their turn. */
  readonly load: () => QueueLoad
}

export type QueueLoad = { readonly busy: number; readonly waiting: number }

/**
 * Does so many things at once, and the others in turn; who comes when as many as may are waiting is
 * refused with `fullError`.
 */
export function queueOf(
  lanes: number | (() => number),
  waitingMax: number,
  fullError: () => Error,
): Queue {
  const lanesNow = typeof lanes === "number" ? () => lanes : lanes
  const waiting: (() => void)[] = []
  let busy = 0
  const turn = async () => {
    if (busy < lanesNow()) {
      busy++
      return
    }
    if (waiting.length >= waitingMax) throw fullError()
    // The lane is handed over, never freed in between: nobody can slip in before who waits.
    await new Promise<void>((go) => waiting.push(go))
  }
  const leave = () => {
    const next = waiting.shift()
    if (next) next()
    else busy--
  }
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    await turn()
    try {
      return await work()
    } finally {
      leave()
    }
  }
  return Object.assign(run, { load: () => ({ busy, waiting: waiting.length }) })
}
