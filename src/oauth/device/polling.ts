import { isOpenWindow } from "../../kernel/clock.ts"
import type { Cx, Store } from "../../store/index.ts"

/** RFC 8628 §3.2: seconds that a device waits between two tries, unless it is told otherwise. */
export const pollSeconds = 5

type Poll = { readonly last: number; readonly interval: number }

const pollsByStore = new WeakMap<Store, Map<string, Poll>>()
const pollsMax = 10_000

/**
 * Notes that a device tried. True where it came too soon: it then has to wait longer (RFC 8628
 * §3.5). Kept in memory only: a device that is forgotten is one that did not come too soon.
 */
export function mustPollSlower(cx: Cx, id: string): boolean {
  const polls = pollsByStore.get(cx.store) ?? new Map<string, Poll>()
  pollsByStore.set(cx.store, polls)
  const key = `${cx.instance}/${id}`
  const now = cx.clock.now()
  const { last, interval } = polls.get(key) ?? { last: 0, interval: pollSeconds }
  // A second for what the network makes of five.
  const isTooSoon = isOpenWindow(last, (interval - 1) * 1000, now)
  polls.delete(key)
  polls.set(key, { last: now, interval: isTooSoon ? interval + 5 : interval })
  const [oldest = ""] = polls.keys()
  if (polls.size > pollsMax) polls.delete(oldest)
  return isTooSoon
}
