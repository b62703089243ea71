// Waiting in tests: for a condition, and only if nothing else is possible for a duration. test/tidy
// rejects every other timer in test/.

export type UntilOptions = {
  /** What is expected, for the error; a function adds details when the error is thrown. */
  readonly what?: string | (() => string)
  readonly limitMs?: number
  readonly intervalMs?: number
}

/** Generous, so that a busy machine does not fail tests. */
const defaultLimitMs = 30_000

/**
 * Polls a condition and returns its first truthy value. Throws what the condition throws, and an
 * error that names the condition when the limit has passed. Fake timers don't affect it.
 */
export async function until<T>(
  condition: () => T,
  { what, limitMs = defaultLimitMs, intervalMs = 20 }: UntilOptions = {},
): Promise<Truthy<Awaited<T>>> {
  const end = Bun.nanoseconds() + limitMs * 1e6
  for (;;) {
    const value = await condition()
    if (isTruthy(value)) return value
    if (Bun.nanoseconds() > end) {
      const text = typeof what === "function" ? what() : (what ?? condition.toString())
      throw new Error(`waited ${limitMs} ms in vain for: ${text}`)
    }
    await Bun.sleep(intervalMs)
  }
}

type Truthy<T> = Exclude<T, false | 0 | "" | null | undefined>

const isTruthy = <T>(value: T): value is Truthy<T> => Boolean(value)

/**
 * Calls `tick`, which advances a manual clock, repeatedly until the work has ended. Returns the
 * result of the work, or throws its error.
 */
export async function driveClock<T>(
  work: Promise<T>,
  tick: () => void,
  {
    what = "the end of work that waits for the clock",
    limitMs = 120_000,
    intervalMs = 2,
  }: UntilOptions = {},
): Promise<T> {
  let isOver = false
  const end = () => {
    isOver = true
  }
  work.then(end, end)
  await until(
    () => {
      if (!isOver) tick()
      return isOver
    },
    { what, limitMs, intervalMs },
  )
  return work
}

/** Lets the event loop run, so that in-memory work without time or I/O completes. */
export async function loopTurns(count = 10): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((done) => setImmediate(done))
}

/**
 * Waits for a duration. The reason, a sentence, states why there is no condition to wait for, such
 * as "nothing may happen, and nothing signals that it did not".
 */
export const pause = (ms: number, _reason: string): Promise<void> => Bun.sleep(ms)
