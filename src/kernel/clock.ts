/** A pending call; `stop` is idempotent. */
export type Timer = { readonly stop: () => void }

/** Time as an argument: whoever needs the time or a timer is handed one of these. */
export type Clock = {
  /** Milliseconds since the epoch, UTC, an integer. */
  readonly now: () => number
  /** When this process began, as `now` tells it: of what was before, its memory knows nothing. */
  readonly began: number
  /** Calls once after `ms` milliseconds. */
  readonly after: (ms: number, call: () => void) => Timer
}

/** The machine's clock. Its timers never keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  began: Date.now(),
  after: (ms, call) => {
    const timer = setTimeout(call, ms)
    timer.unref()
    return { stop: () => clearTimeout(timer) }
  },
}

export type ManualClock = Clock & {
  /** Moves time by `ms` (which may be negative) and runs the timers that fall due, in order. */
  readonly advance: (ms: number) => void
  /** How many timers have not fallen due. */
  readonly pending: () => number
}

/** A clock that stands still until it is told to move; for tests that simulate days in seconds. */
export function manualClock(start: number): ManualClock {
  let now = start
  let due: { at: number; call: () => void }[] = []
  return {
    now: () => now,
    began: start,
    after: (ms, call) => {
      const entry = { at: now + ms, call }
      due.push(entry)
      return {
        stop: () => {
          due = due.filter((other) => other !== entry)
        },
      }
    },
    pending: () => due.length,
    advance: (ms) => {
      const end = now + ms
      for (;;) {
        const next = due.filter((entry) => entry.at <= end).sort((a, b) => a.at - b.at)[0]
        if (!next) break
        due = due.filter((entry) => entry !== next)
        now = Math.max(now, next.at)
        next.call()
      }
      now = end
    },
  }
}

/** Resolves after `ms` milliseconds of the machine's own clock. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => void systemClock.after(ms, resolve))

/** What the work answers; throws what `late` makes where it takes longer. Leaves no timer. */
export async function within<T>(
  clock: Clock,
  ms: number,
  { work, late }: { readonly work: PromiseLike<T>; readonly late: () => Error },
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = clock.after(ms, () => reject(late()))
  try {
    return await Promise.race([work, promise])
  } finally {
    timer.stop()
  }
}

/** How far apart the clocks of machines that share a log may be. */
export const skewMs = 60_000

/**
 * Whether a window that began at `since` and lasts `lastsMs` is open at `now`, ms UTC. A window
 * that begins in the future was begun by a clock that was ahead and has been corrected since: it is
 * discarded, or it would count, and lock people out, until that time.
 */
export const isOpenWindow = (since: number, lastsMs: number, now: number): boolean =>
  now < since + lastsMs && since <= now + skewMs

/** A time until which something is full or refused; discarded where no window lasts that long. */
export const boundedUntil = (until: number, longestMs: number, now: number): number =>
  until > now + longestMs + skewMs ? now : Math.min(Math.max(until, now), now + longestMs)
