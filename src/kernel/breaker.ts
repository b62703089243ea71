import { isOpenWindow } from "./clock.ts"
import type { Call } from "./context.ts"
import { reasonText } from "./fault.ts"
import { lru } from "./lru.ts"

type Clocked = Pick<Call, "clock">

type BreakerOptions = {
  /**
   * On whose behalf it is called, such as a recipient. Failures on behalf of one and the same count
   * once: what fails for one recipient only is no outage.
   */
  readonly onBehalfOf?: string
}

/** Runs `act`, unless what `key` names has failed so often that it is left alone for a while. */
export type Breaker = ((
  cx: Clocked,
  key: string,
  act: () => Promise<void>,
  options?: BreakerOptions,
) => Promise<void>) & {
  /** Whether what `key` names is left alone just now. */
  readonly resting: (cx: Clocked, key: string) => Resting | undefined
}

/** Until when something is left alone, ms UTC, and what went wrong with it last. */
export type Resting = { readonly until: number; readonly error: string }

type Failures = Resting & {
  readonly count: number
  /** Those that the failures so far were met on behalf of. */
  readonly by: ReadonlySet<string>
}

const failuresMax = 5
const pauseMs = 30_000
const knownMax = 1000
const none: Failures = { count: 0, by: new Set(), until: 0, error: "" }

/**
 * What does not answer costs everybody time: after five failures in a row it is left alone for half
 * a minute, and every try in that time fails at once. Then one call tries it for all.
 */
export function breakerOf(): Breaker {
  const known = lru<Failures>(knownMax)
  const resting: Breaker["resting"] = (cx, key) => {
    const { count, until, error } = known.get(key) ?? none
    const isOpen = isOpenWindow(until - pauseMs, pauseMs, cx.clock.now())
    return count >= failuresMax && isOpen ? { until, error } : undefined
  }
  const run: (...input: Parameters<Breaker>) => Promise<void> = async (
    cx,
    key,
    act,
    { onBehalfOf } = {},
  ) => {
    if (resting(cx, key)) {
      throw new Error("it has not answered of late, and is left alone for half a minute")
    }
    const before = known.get(key) ?? none
    if (before.count >= failuresMax) {
      known.set(key, { ...before, until: cx.clock.now() + pauseMs })
    }
    try {
      await act()
      known.delete(key)
    } catch (cause) {
      const { count, by } = known.get(key) ?? none
      const isRepeated = onBehalfOf !== undefined && by.has(onBehalfOf)
      known.set(key, {
        count: isRepeated ? count : count + 1,
        by: onBehalfOf === undefined || count >= failuresMax ? by : new Set([...by, onBehalfOf]),
        error: reasonText(cause),
        until: cx.clock.now() + pauseMs,
      })
      throw cause
    }
  }
  return Object.assign(run, { resting })
}
