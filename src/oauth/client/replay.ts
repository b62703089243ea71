import { createHash } from "node:crypto"
import type { Cx, Store } from "../../store/index.ts"
import { OAuthError } from "../error.ts"

/** What was used, until when it counts, and how much of it came from each address. */
type Half = { readonly uses: Map<string, number>; readonly bySource: Map<string, number> }

/** What was used until now, in two halves: the older one is forgotten as a whole. */
type Seen = { recent: Half; old: Half; turned: number }

const seenByStore = new WeakMap<Store, Seen>()

/** ms; nothing that is kept here counts for longer. */
const turnEvery = 90_000
const usesMax = 500_000
/** However many one address sends, there is room for those of others. */
const shareMax = usesMax / 2

const empty = (): Half => ({ uses: new Map(), bySource: new Map() })

/**
 * Notes that something was used; false where it was used before. For what is good for a minute at
 * most and costs its sender a signature: it is kept in memory only, and what was made before this
 * process began must be refused, see `isRemembered`. Where several nodes share a log, one of them
 * asks for all; so does one of several processes that share a file.
 */
export function isFirstUse(cx: Cx, what: string, expires: number): boolean | Promise<boolean> {
  const isFirst = isFirstHere(cx, what, expires)
  const others = cx.store.node ?? cx.store.together
  return isFirst && (others === undefined || others.spendOnce(keyOf(cx, what), expires))
}

/** Whether a use at that time, ms UTC, would be known by now. */
export const isRemembered = ({ store, clock }: Cx, time: number): boolean =>
  store.node !== undefined || time >= clock.began

function isFirstHere(cx: Cx, what: string, expires: number): boolean {
  const now = cx.clock.now()
  const seen = seenByStore.get(cx.store) ?? { recent: empty(), old: empty(), turned: now }
  seenByStore.set(cx.store, seen)
  if (now - seen.turned >= turnEvery) {
    seen.old = seen.recent
    seen.recent = empty()
    seen.turned = now
  }
  const key = keyOf(cx, what)
  const until = seen.recent.uses.get(key) ?? seen.old.uses.get(key)
  if (until !== undefined && now < until) return false
  takeRoom(cx, seen.recent)
  seen.recent.uses.set(key, expires)
  return true
}

/** Of one length, however long the sender made it. */
const keyOf = ({ instance }: Cx, what: string): string =>
  createHash("sha256").update(`${instance}/${what}`).digest("base64url")

function takeRoom(cx: Cx, { uses, bySource }: Half): void {
  const source = cx.allowance?.source() ?? ""
  const count = bySource.get(source) ?? 0
  if (uses.size >= usesMax || (source !== "" && count >= shareMax)) {
    throw new OAuthError("temporarily_unavailable", "too many requests; try again", { status: 503 })
  }
  bySource.set(source, count + 1)
}
