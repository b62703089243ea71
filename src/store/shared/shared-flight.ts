import { Fault } from "../../kernel/fault.ts"

/** When the next shared run starts, if there are many callers. */
export type RunGap = {
  /** Minimum milliseconds between two starts, after a run with several callers. */
  readonly ms: number
  /** A monotonic time in ms. */
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
}

/**
 * Shares work between callers: those that call during a run share the next one. It starts after the
 * current batch of input is processed, so that callers in the same turn also share it; therefore
 * the work always sees everything that happened before the call. After a run with several callers,
 * the next one waits briefly to collect more; a single caller never waits.
 */
export function shareRuns<T>(work: () => Promise<T>, gap: RunGap): () => Promise<T> {
  let gathering: Promise<T> | undefined
  let currentRun: Promise<unknown> | undefined
  let waiting = 0
  let earliest = Number.NEGATIVE_INFINITY
  const startRun = async (): Promise<T> => {
    await (currentRun ?? new Promise((resolve) => setImmediate(resolve)))
    const early = earliest - gap.now()
    if (early > 0) await gap.sleep(early)
    gathering = undefined
    earliest = waiting > 1 ? gap.now() + gap.ms : Number.NEGATIVE_INFINITY
    waiting = 0
    const sharedRun = work()
    const finished = sharedRun.then(noop, noop).then(() => {
      if (currentRun === finished) currentRun = undefined
    })
    currentRun = finished
    return sharedRun
  }
  return () => {
    waiting++
    gathering ??= startRun()
    return gathering
  }
}

const noop = () => undefined

/** A pause that ends when `ring` is called; a call before the pause is not lost. */
export function createBell(sleep: RunGap["sleep"]) {
  let isRung = false
  let wake: (() => void) | undefined
  return {
    ring: () => {
      isRung = true
      wake?.()
    },
    rest: async (ms: number) => {
      if (!isRung) {
        const rung = new Promise<void>((resolve) => {
          wake = resolve
        })
        await Promise.race([rung, sleep(ms)])
      }
      wake = undefined
      isRung = false
    },
  }
}

/** The caller of an append stops waiting after this time, although it may still be written. */
const appendTimeoutMs = 4000
const checkMs = 250

/**
 * Rejects calls that have waited too long for an append: the log may retry it for longer than a
 * request may take. One timer serves all calls, because a timer for each would cost more than most
 * appends.
 */
export function createTimeoutGuard({ now, sleep }: Omit<RunGap, "ms">) {
  const waiting = new Map<{ readonly reject: (cause: unknown) => void }, number>()
  let isWatching = false
  const watch = async () => {
    isWatching = true
    while (waiting.size > 0) {
      await sleep(checkMs)
      for (const [one, startedAt] of waiting) {
        if (now() - startedAt >= appendTimeoutMs) one.reject(appendTimeoutError())
      }
    }
    isWatching = false
  }
  return async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    const overdue = Promise.withResolvers<never>()
    waiting.set(overdue, now())
    if (!isWatching) void watch()
    try {
      return await Promise.race([answer, overdue.promise])
    } finally {
      waiting.delete(overdue)
    }
  }
}

const appendTimeoutError = () =>
  new Fault(
    "unavailable",
    "store.database_unreachable",
    "the database does not respond, so it is unknown whether this was saved; try again soon",
  )
