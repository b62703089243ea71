import type { Cx, Store } from "../../store/index.ts"
import { OAuthError } from "../error.ts"

/** What was used until now, in two halves: the older one is forgotten as a whole. */
type Seen = {
  recent: Map<string, number>
  old: Map<string, number>
  turned: number
}

const seenByStore = new WeakMap<Store, Seen>()

/** ms; nothing that is kept here counts for longer. */
const turnEvery = 90_000
const seenMax = 500_000

/**
 * Notes that something was used; false where it was used before. For what is good for a minute at
 * most and costs its sender a signature: it is kept in memory only.
 */
export function isFirstUse(cx: Cx, what: string, expires: number): boolean {
  const now = cx.clock.now()
  const seen = seenByStore.get(cx.store) ?? { recent: new Map(), old: new Map(), turned: now }
  seenByStore.set(cx.store, seen)
  if (now - seen.turned >= turnEvery) {
    seen.old = seen.recent
    seen.recent = new Map()
    seen.turned = now
  }
  const key = `${cx.instance}/${what}`
  const until = seen.recent.get(key) ?? seen.old.get(key)
  if (until !== undefined && now < until) return false
  if (seen.recent.size >= seenMax) {
    throw new OAuthError("temporarily_unavailable", "too many requests; try again", 503)
  }
  seen.recent.set(key, expires)
  return true
}
