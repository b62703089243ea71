import { isOpenWindow } from "./clock.ts"
import type { Call } from "./context.ts"
import { errorText } from "./fault.ts"
import { lru } from "./lru.ts"

type ClockContext = Pick<Call, "clock">

type BreakerOptions = {
  /**
   * The party for which the call is made, such as a recipient. Repeated failures for the same party
   * count once: a failure for a single recipient is no outage.
   */
  readonly onBehalfOf?: string
}

/** Runs `act`, unless the circuit of `key` is open after too many failures. */
export type Breaker = ((
  cx: ClockContext,
  key: string,
  act: () => Promise<void>,
  options?: BreakerOptions,
) => Promise<void>) & {
  /** The open circuit of `key`; undefined if calls are allowed. */
  readonly resting: (cx: ClockContext, key: string) => OpenCircuit | undefined
}

/** When an open circuit allows the next call, ms UTC, and its last error. */
export type OpenCircuit = { readonly until: number; readonly error: string }

type Failures = OpenCircuit & {
  readonly count: number
  /** The parties for which calls have failed so far. */
  readonly parties: ReadonlySet<string>
}

const maxFailures = 5
const pauseMs = 30_000
const maxKeys = 1000
const noFailures: Failures = { count: 0, parties: new Set(), until: 0, error: "" }

/**
 * Creates a circuit breaker: after five consecutive failures, calls to the same key fail
 * immediately for 30 seconds. Then a single call is allowed as a probe.
 */
export function createBreaker(): Breaker {
  const failuresByKey = lru<Failures>(maxKeys)
  const resting: Breaker["resting"] = (cx, key) => {
    const { count, until, error } = failuresByKey.get(key) ?? noFailures
    const isOpen = isOpenWindow(until - pauseMs, pauseMs, cx.clock.now())
    return count >= maxFailures && isOpen ? { until, error } : undefined
  }
  const run: (...input: Parameters<Breaker>) => Promise<void> = async (
    cx,
    key,
    act,
    { onBehalfOf } = {},
  ) => {
    if (resting(cx, key)) {
      throw new Error("the service has failed repeatedly; calls are paused for 30 seconds")
    }
    const before = failuresByKey.get(key) ?? noFailures
    if (before.count >= maxFailures) {
      failuresByKey.set(key, { ...before, until: cx.clock.now() + pauseMs })
    }
    try {
      await act()
      failuresByKey.delete(key)
    } catch (cause) {
      const { count, parties } = failuresByKey.get(key) ?? noFailures
      const isRepeated = onBehalfOf !== undefined && parties.has(onBehalfOf)
      failuresByKey.set(key, {
        count: isRepeated ? count : count + 1,
        parties:
          onBehalfOf === undefined || count >= maxFailures
            ? parties
            : new Set([...parties, onBehalfOf]),
        error: errorText(cause),
        until: cx.clock.now() + pauseMs,
      })
      throw cause
    }
  }
  return Object.assign(run, { resting })
}
