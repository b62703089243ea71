/** The position of work in the queue. */
export type QueuePosition = {
  /** The line to wait in; lines take turns. The default is "". */
  readonly line?: string | undefined
  /** Work with a lower weight runs first within its line. */
  readonly weight?: number | undefined
}

export type Queue = (<T>(work: () => Promise<T>, position?: QueuePosition) => Promise<T>) & {
  /** The number of running and waiting tasks. */
  readonly load: () => QueueLoad
}

export type QueueLoad = { readonly busy: number; readonly waiting: number }

/** A waiting task. */
type WaitingTask = PromiseWithResolvers<void> & { readonly weight: number }

/**
 * Runs a limited number of tasks at once, and the others in turn: the lightest of each line in
 * rotation, so that a long line doesn't block the others. If a line is full, new work is rejected
 * with `fullError` or replaces the heaviest waiting task.
 */
export function createQueue(
  concurrency: number | (() => number),
  maxWaiting: number,
  fullError: () => Error,
): Queue {
  const currentConcurrency = typeof concurrency === "number" ? () => concurrency : concurrency
  /** Lines are never empty; the first one is next. */
  const lines = new Map<string, WaitingTask[]>()
  let busy = 0
  const waitForTurn = async ({ line = "", weight = 0 }: QueuePosition) => {
    if (busy < currentConcurrency()) {
      busy++
      return
    }
    const waiting = lines.get(line) ?? []
    if (waiting.length >= maxWaiting) makeRoom(waiting, weight, fullError)
    lines.set(line, waiting)
    // The slot is passed on without being freed, so that nothing can overtake the waiting tasks.
    const position: WaitingTask = { ...Promise.withResolvers<void>(), weight }
    const heavier = waiting.findIndex((other) => other.weight > weight)
    waiting.splice(heavier < 0 ? waiting.length : heavier, 0, position)
    await position.promise
  }
  const leave = () => {
    const [first] = lines
    if (!first) {
      busy--
      return
    }
    const [line, waiting] = first
    const next = waiting.shift()
    // Moves the line to the end: a map iterates in insertion order.
    lines.delete(line)
    if (waiting.length > 0) lines.set(line, waiting)
    next?.resolve()
  }
  const run = async <T>(work: () => Promise<T>, position: QueuePosition = {}): Promise<T> => {
    await waitForTurn(position)
    try {
      return await work()
    } finally {
      leave()
    }
  }
  const countWaiting = () => [...lines.values()].reduce((sum, { length }) => sum + length, 0)
  return Object.assign(run, { load: () => ({ busy, waiting: countWaiting() }) })
}

/** Rejects the last task of a full line if it is heavier than the new one; otherwise throws. */
function makeRoom(waiting: WaitingTask[], weight: number, fullError: () => Error): void {
  const last = waiting.at(-1)
  if (!last || last.weight <= weight) throw fullError()
  waiting.pop()
  last.reject(fullError())
}
