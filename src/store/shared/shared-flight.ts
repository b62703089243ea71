import { Fault } from "../../kernel/fault.ts"

/** When the next flight begins, where many ask. */
export type FlightGap = {
  /** The least time from one beginning to the next, in ms, once a flight had several waiting. */
  readonly ms: number
  /** A monotonic time in ms. */
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
}

/**
 * Shares work among all who ask for it: who asks while it is under way waits for the next one, with
 * all who came since. It begins when whatever came in together has been looked at, so that those
 * who ask in one turn share it, too. So whatever happened before somebody asked, the work has seen.
 * Where several share it the next one gathers for a moment, so that many ask for little more work
 * than few; whoever is alone never waits for others.
 */
export function shareFlight<T>(work: () => Promise<T>, gap: FlightGap): () => Promise<T> {
  let gathering: Promise<T> | undefined
  let flying: Promise<unknown> | undefined
  let waiting = 0
  let earliest = Number.NEGATIVE_INFINITY
  const fly = async (): Promise<T> => {
    await (flying ?? new Promise((resolve) => setImmediate(resolve)))
    const early = earliest - gap.now()
    if (early > 0) await gap.sleep(early)
    gathering = undefined
    earliest = waiting > 1 ? gap.now() + gap.ms : Number.NEGATIVE_INFINITY
    waiting = 0
    const flight = work()
    const over = flight.then(nothing, nothing).then(() => {
      if (flying === over) flying = undefined
    })
    flying = over
    return flight
  }
  return () => {
    waiting++
    gathering ??= fly()
    return gathering
  }
}

const nothing = () => undefined

/** A rest that ends when somebody rings; who rings before it begins is not missed. */
export function bellOf(sleep: FlightGap["sleep"]) {
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

/** Someone waits for the answer to a step no longer, although it may still be written. */
const stepMs = 4000
const watchMs = 250

/**
 * Rejects whoever has waited too long for a step: the log may be asked for it again for longer than
 * a request may take. One watch serves all that wait, since a timer for each costs more than most
 * steps take.
 */
export function patienceOf({ now, sleep }: Omit<FlightGap, "ms">) {
  const waiting = new Map<{ readonly reject: (cause: unknown) => void }, number>()
  let isWatching = false
  const watch = async () => {
    isWatching = true
    while (waiting.size > 0) {
      await sleep(watchMs)
      for (const [one, begun] of waiting) {
        if (now() - begun >= stepMs) one.reject(lateError())
      }
    }
    isWatching = false
  }
  return async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    const late = Promise.withResolvers<never>()
    waiting.set(late, now())
    if (!isWatching) void watch()
    try {
      return await Promise.race([answer, late.promise])
    } finally {
      waiting.delete(late)
    }
  }
}

const lateError = () =>
  new Fault(
    "unavailable",
    "store.database_unreachable",
    "the database does not answer, so nobody knows whether this was saved; try again soon",
  )
