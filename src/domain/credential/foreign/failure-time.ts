import { isOpenWindow } from "../../../kernel/clock.ts"
import type { Cx, Store } from "../../../store/index.ts"

/**
 * Duration of the slowest recent failed attempt with an imported hash, and when it ended; ms UTC.
 */
type SlowestFailure = { readonly ms: number; readonly at: number }

const slowestByStore = new WeakMap<Store, SlowestFailure>()

const retentionMs = 10 * 60_000

/** Safety factor, because the next attempt with an imported hash may take longer. */
const margin = 1.25

/** Upper limit of the delay that imported hashes add to failed attempts. */
const waitMaxMs = 4000

/**
 * Minimum duration of a failed attempt: that of recent attempts with imported hashes. Those wait in
 * a separate lane, so on a busy machine they would otherwise take noticeably longer than attempts
 * for unknown accounts.
 */
export function failedAttemptMs(cx: Cx): number {
  const { ms, at } = slowestByStore.get(cx.store) ?? { ms: 0, at: 0 }
  return isOpenWindow(at, retentionMs, cx.clock.now()) ? Math.min(ms * margin, waitMaxMs) : 0
}

/** Records the duration of a failed attempt with an imported hash. */
export function recordForeignFailure(cx: Cx, ms: number): void {
  const at = cx.clock.now()
  const slowest = slowestByStore.get(cx.store)
  const isSlower = !slowest || ms >= slowest.ms || !isOpenWindow(slowest.at, retentionMs, at)
  if (isSlower) slowestByStore.set(cx.store, { ms, at })
}
