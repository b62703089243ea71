/** A pending call; `stop` is idempotent. */
export type Timer = { readonly stop: () => void }

/** Time as a dependency: everything that needs the time or a timer receives a clock. */
export type Clock = {
  /** Milliseconds since the epoch, UTC, an integer. */
  readonly now: () => number
  /** The start time of this process, from the same clock as `now`. */
  readonly startedAt: number
  /** Calls once after `ms` milliseconds. */
  readonly after: (ms: number, call: () => void) => Timer
}

/** The machine's clock. Its timers never keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  startedAt: Date.now(),
  after: (ms, call) => {
    const timer = setTimeout(call, ms)
    timer.unref()
    return { stop: () => clearTimeout(timer) }
  },
}

export type ManualClock = Clock & {
  /** Moves time by `ms` (which may be negative) and runs the timers that fall due, in order. */
  readonly advance: (ms: number) => void
  /** The number of pending timers. */
  readonly pending: () => number
}

/** A clock that only moves by `advance`; for tests that simulate days in seconds. */
export function manualClock(start: number): ManualClock {
  let now = start
  let due: { at: number; call: () => void }[] = []
  return {
    now: () => now,
    startedAt: start,
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

/** Resolves after `ms` milliseconds of system time. */
export const delay = (ms: number): Promise<void> =>
  new Promise((resolve) => void systemClock.after(ms, resolve))

/**
 * Returns the result of `work`; throws the result of `late` after `ms` milliseconds. Always stops
 * its timer.
 */
export async function withTimeout<T>(
  clock: Clock,
  ms: number,
  { work, timeoutError }: { readonly work: PromiseLike<T>; readonly timeoutError: () => Error },
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = clock.after(ms, () => reject(timeoutError()))
  try {
    return await Promise.race([work, promise])
  } finally {
    timer.stop()
  }
}

/** Maximum clock difference between machines that share an event log. */
export const maxClockSkewMs = 60_000

/**
 * Whether a window that starts at `since` and lasts `lastsMs` is open at `now`, ms UTC. A window
 * that starts in the future was set by a clock that was ahead: it is ignored, because it would
 * otherwise lock users out until that time.
 */
export const isOpenWindow = (since: number, durationMs: number, now: number): boolean =>
  now < since + durationMs && since <= now + maxClockSkewMs

/**
 * The time until which something is blocked; ignored if it is further away than the longest block.
 */
export const boundedUntil = (until: number, longestMs: number, now: number): number =>
  until > now + longestMs + maxClockSkewMs ? now : Math.min(Math.max(until, now), now + longestMs)
