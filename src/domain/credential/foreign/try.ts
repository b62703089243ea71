import { isOpenWindow } from "../../../kernel/clock.ts"
import type { Cx, Store } from "../../../store/index.ts"

/** How long the slowest failed try with an imported hash took, and when it ended; ms UTC. */
type Slowest = { readonly ms: number; readonly at: number }

const slowestByStore = new WeakMap<Store, Slowest>()

const rememberedMs = 10 * 60_000

/** Other tries wait a little longer: the next one with an imported hash may take longer too. */
const margin = 1.25

/** Nobody who has mistyped their password waits longer than this because of imported hashes. */
const waitMax = 4000

/**
 * How long a failed try takes at least: as long as those with imported hashes lately. These wait
 * for a lane of their own, so that on a busy machine they would be told later than those of
 * accounts that don't exist.
 */
export function failedTryMs(cx: Cx): number {
  const { ms, at } = slowestByStore.get(cx.store) ?? { ms: 0, at: 0 }
  return isOpenWindow(at, rememberedMs, cx.clock.now()) ? Math.min(ms * margin, waitMax) : 0
}

/** Notes how long a failed try with an imported hash took. */
export function noteForeignTry(cx: Cx, ms: number): void {
  const at = cx.clock.now()
  const known = slowestByStore.get(cx.store)
  const isSlower = !known || ms >= known.ms || !isOpenWindow(known.at, rememberedMs, at)
  if (isSlower) slowestByStore.set(cx.store, { ms, at })
}
