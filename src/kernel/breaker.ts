import type { Call } from "./context.ts"
import { lru } from "./lru.ts"

type Clocked = Pick<Call, "clock">

/** Runs `act`, unless what `key` names has failed so often that it is left alone for a while. */
export type Breaker = ((cx: Clocked, key: string, act: () => Promise<void>) => Promise<void>) & {
  /** Whether what `key` names is left alone just now. */
  readonly resting: (cx: Clocked, key: string) => Resting | undefined
}

/** Until when something is left alone, ms UTC, and what went wrong with it last. */
export type Resting = { readonly until: number; readonly error: string }

const failuresMax = 5
const pauseMs = 30_000
const knownMax = 1000

/**
 * What does not answer costs everybody time: after five failures in a row it is left alone for half
 * a minute, and every try in that time fails at once.
 */
export function breakerOf(): Breaker {
  const known = lru<Resting & { readonly failures: number }>(knownMax)
  const resting: Breaker["resting"] = (cx, key) => {
    const { failures = 0, until = 0, error = "" } = known.get(key) ?? {}
    return failures >= failuresMax && cx.clock.now() < until ? { until, error } : undefined
  }
  const run = async (cx: Clocked, key: string, act: () => Promise<void>) => {
    if (resting(cx, key)) {
      throw new Error("it has not answered of late, and is left alone for half a minute")
    }
    try {
      await act()
      known.delete(key)
    } catch (cause) {
      const failures = (known.get(key)?.failures ?? 0) + 1
      const error = cause instanceof Error ? cause.message : String(cause)
      known.set(key, { failures, error, until: cx.clock.now() + pauseMs })
      throw cause
    }
  }
  return Object.assign(run, { resting })
}
