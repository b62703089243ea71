import type { Call } from "./context.ts"
import { lru } from "./lru.ts"

/** Runs `act`, unless what `key` names has failed so often that it is left alone for a while. */
export type Breaker = (
  cx: Pick<Call, "clock">,
  key: string,
  act: () => Promise<void>,
) => Promise<void>

const failuresMax = 5
const pauseMs = 30_000
const knownMax = 1000

/**
 * What does not answer costs everybody time: after five failures in a row it is left alone for half
 * a minute, and every try in that time fails at once.
 */
export function breakerOf(): Breaker {
  const known = lru<{ readonly failures: number; readonly until: number }>(knownMax)
  return async (cx, key, act) => {
    const { failures, until } = known.get(key) ?? { failures: 0, until: 0 }
    if (failures >= failuresMax && cx.clock.now() < until) {
      throw new Error("it has not answered of late, and is left alone for half a minute")
    }
    try {
      await act()
      known.delete(key)
    } catch (cause) {
      known.set(key, { failures: failures + 1, until: cx.clock.now() + pauseMs })
      throw cause
    }
  }
}
