import { isOpenWindow } from "../../kernel/clock.ts"
import type { Cx, Store } from "../../store/index.ts"

/** RFC 8628 §3.2: the default polling interval in seconds. */
export const pollSeconds = 5

type Poll = { readonly lastAt: number; readonly interval: number }

const pollsByStore = new WeakMap<Store, Map<string, Poll>>()
const pollsMax = 10_000

/**
 * Records a poll. Returns true if it came too early; the interval then increases (RFC 8628 §3.5).
 * Stored only in memory: for an unknown device, the poll is not too early.
 */
export function isPollingTooFast(cx: Cx, id: string): boolean {
  const polls = pollsByStore.get(cx.store) ?? new Map<string, Poll>()
  pollsByStore.set(cx.store, polls)
  const key = `${cx.instance}/${id}`
  const now = cx.clock.now()
  const { lastAt, interval } = polls.get(key) ?? { lastAt: 0, interval: pollSeconds }
  // Tolerates one second of network jitter.
  const isTooSoon = isOpenWindow(lastAt, (interval - 1) * 1000, now)
  polls.delete(key)
  polls.set(key, { lastAt: now, interval: isTooSoon ? interval + 5 : interval })
  const [oldest = ""] = polls.keys()
  if (polls.size > pollsMax) polls.delete(oldest)
  return isTooSoon
}
