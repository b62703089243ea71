import { appChain, isAppActive } from "../../domain/app/index.ts"
import { mayEnter } from "../../domain/authorization/index.ts"
import { grant } from "../../domain/grant/index.ts"
import { session, sessionNow } from "../../domain/session/index.ts"
import { passwordVersion, user } from "../../domain/user/index.ts"
import type { Cx } from "../../store/index.ts"

/**
 * What tokens hang from, beside their user: a person's grant together with its session, named by
 * its id alone; or by kind and id a grant without its session, or what a service user came with.
 */
type Kind = "key" | "offline" | "secret" | "pat"

/**
 * A service user grants itself, with a key or a secret: what it got so ends with it. A personal
 * access token hangs from itself.
 */
export const anchorOf = (kind: Kind, id: string): string => `${kind}/${id}`

/** When an anchor of a user ends as things stand, ms UTC; 0 where it has ended. */
export function anchorUntil(cx: Cx, userId: string, anchor: string): number {
  const [kind, ...id] = anchor.split("/")
  if (id.length === 0) return grantUntil(cx, userId, anchor)
  if (kind === "offline") return offlineUntil(cx, userId, id.join("/"))
  return credentialUntil(cx, userId, { kind, id: id.join("/") })
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
  if (!isAppActive(cx, given.appId)) return undefined
  // A project may ask for an authorization: without it, what it let in before has ended too.
  const projectId = appChain(cx, given.appId)?.project ?? ""
  return mayEnter(cx, userId, projectId) === "yes" ? given : undefined
}

/** Whether a token is one that its user was given to use as it is. */
export const isPersonal = ({ grantId }: { readonly grantId: string }): boolean =>
  grantId.startsWith(anchorOf("pat", ""))

type Credential = { readonly kind: string | undefined; readonly id: string }

/** What a service user came with; a secret ends when it is replaced or removed. */
function credentialUntil(cx: Cx, userId: string, { kind, id }: Credential): number {
  const state = cx.store.state(cx, user, userId)
  if (!("kind" in state) || state.kind !== "machine") return 0
  if (kind === "secret") return state.secret?.id === id ? Number.POSITIVE_INFINITY : 0
  const { keys, personalTokens: tokens } = state
  if (kind === "key" && Object.hasOwn(keys, id)) return keys[id] ?? 0
  return (kind === "pat" && Object.hasOwn(tokens, id) ? tokens[id] : undefined)?.expires ?? 0
}
