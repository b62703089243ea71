import { isAppActive } from "../../domain/app/index.ts"
import { grant } from "../../domain/grant/index.ts"
import { session, sessionNow } from "../../domain/session/index.ts"
import { passwordVersion, user } from "../../domain/user/index.ts"
import type { Cx } from "../../store/index.ts"

/**
 * What tokens hang from, beside their user: a person's grant together with its session, named by
 * its id alone; or by kind and id a grant without its session, or what a service user came with.
 */
type Kind = "key" | "offline"

/** A service user grants itself, with a key: what the key got ends with it. */
export const anchorOf = (kind: Kind, id: string): string => `${kind}/${id}`

/** When an anchor of a user ends as things stand, ms UTC; 0 where it has ended. */
export function anchorUntil(cx: Cx, userId: string, anchor: string): number {
  const [kind, ...id] = anchor.split("/")
  if (id.length === 0) return grantUntil(cx, userId, anchor)
  if (kind === "offline") return offlineUntil(cx, userId, id.join("/"))
  return kind === "key" ? keyUntil(cx, userId, id.join("/")) : 0
}

/**
 * What a refreshed token hangs from. While the session goes on, its end ends what was issued until
 * then; a token that is issued later hangs from the grant alone (OpenID Connect Back-Channel
 * Logout §2.7).
 */
export function refreshAnchor(cx: Cx, grantId: string): string {
  const given = cx.store.state(cx, grant, grantId)
  const sessionId = given.status === "absent" ? "" : given.sessionId
  const { status, expires } = cx.store.state(cx, session, sessionId)
  const goesOn = status === "active" && cx.clock.now() < expires
  return goesOn ? grantId : anchorOf("offline", grantId)
}

function grantUntil(cx: Cx, userId: string, grantId: string): number {
  const given = activeGrant(cx, userId, grantId)
  if (!given) return 0
  if (!given.offline) return sessionNow(cx, given.sessionId)?.expires ?? 0
  const isEnded = cx.store.state(cx, session, given.sessionId).status !== "active"
  return isEnded ? 0 : offlineUntil(cx, userId, grantId)
}

/** No time ends it, but a new password does. */
function offlineUntil(cx: Cx, userId: string, grantId: string): number {
  const offline = activeGrant(cx, userId, grantId)?.offline
  return offline?.passwordVersion === passwordVersion(cx, userId) ? Number.POSITIVE_INFINITY : 0
}

function activeGrant(cx: Cx, userId: string, grantId: string) {
  const given = cx.store.state(cx, grant, grantId)
  if (given.status !== "active" || given.userId !== userId) return undefined
  return isAppActive(cx, given.appId) ? given : undefined
}

function keyUntil(cx: Cx, userId: string, keyId: string): number {
  const state = cx.store.state(cx, user, userId)
  const keys = "kind" in state && state.kind === "machine" ? state.keys : {}
  return (Object.hasOwn(keys, keyId) ? keys[keyId] : undefined) ?? 0
}
