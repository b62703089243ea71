import { isAppActive } from "../../domain/app/index.ts"
import { appDenial, type SignInProof, satisfiedUntil } from "../../domain/app-access/index.ts"
import {
  exchange,
  grant,
  outlivesSession,
  type Party,
  revocation,
  withdrawnAt,
} from "../../domain/grant/index.ts"
import { isOrgActive } from "../../domain/org/index.ts"
import { freshTimeOf, session, sessionNow } from "../../domain/session/index.ts"
import { isUserActive, passwordVersion } from "../../domain/user-lookup/index.ts"
import { user } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"
import { mayActAs } from "./impersonation.ts"

/**
 * What tokens hang from, beside their user: a person's grant together with its session, named by
 * its id alone; or by kind and id a grant without its session, a session with an application, an
 * exchange of tokens, or what a service user came with.
 */
type Kind = "exchange" | "key" | "offline" | "secret" | "session" | "pat"

/** A personal access token hangs from itself. */
export const tokenParentOf = (kind: Kind, id: string): string => `${kind}/${id}`

/**
 * A service user grants itself, with a key or a secret: what it got so ends with it, and for good
 * when they or their organisation are stopped.
 */
export const credentialParent = (
  cx: Cx,
  kind: "key" | "secret",
  { userId, id }: { readonly userId: string; readonly id: string },
): string => tokenParentOf(kind, `${id}/${passwordVersion(cx, userId)}`)

/**
 * When what somebody's tokens hang from ends as things stand, ms UTC; 0 where it has ended, or
 * where they or their organisation are not active.
 */
export function partyUntil(cx: Cx, { userId, anchor }: Party): number {
  if (!isUserActive(cx, userId) || !isOrgActive(cx, orgOf(cx, userId))) return 0
  return parentUntil(cx, userId, anchor)
}

/**
 * Whether nothing but who can use the application keeps a grant from being active: its user is
 * signed in, and not admitted.
 */
export function isShutOut(cx: Cx, { userId, anchor }: Party): boolean {
  if (!isUserActive(cx, userId) || !isOrgActive(cx, orgOf(cx, userId))) return false
  const given = cx.store.state(cx, grant, anchor)
  if (given.status !== "active" || given.userId !== userId) return false
  if (!isAppActive(cx, given.appId) || isOpenTo(cx, given.appId, userId)) return false
  return sessionNow(cx, given.sessionId)?.userId === userId
}

/** The organisation that a user belongs to. */
export const orgOf = (cx: Cx, userId: string): string =>
  cx.store.receipt(cx, user, userId)?.owner ?? ""

/** What a token hangs from, and the client that it was issued to. */
type Presented = { readonly anchor: string; readonly clientId: string }

/**
 * When a person last signed in for certain, in the sign-in that their token hangs from, ms UTC: 0
 * where nobody knows. Undefined for service users, who sign in by what they have.
 */
export function freshTimeOfToken(
  cx: Cx,
  userId: string,
  { anchor, clientId }: Presented,
): number | undefined {
  const state = cx.store.state(cx, user, userId)
  if ("kind" in state && state.kind === "machine") return undefined
  const [kind = "", ...rest] = anchor.split("/")
  const id = rest.join("/")
  if (kind === "session") return freshTimeOf(cx.store.state(cx, session, rest[0] ?? ""))
  if (kind === "exchange") {
    const given = cx.store.state(cx, exchange, id)
    const before = given.status === "absent" ? undefined : given.anchor
    return before === undefined ? 0 : freshTimeOfToken(cx, userId, { anchor: before, clientId })
  }
  const given = cx.store.state(cx, grant, kind === "offline" ? id : anchor)
  if (given.status === "absent") return 0
  return Math.max(given.freshAt, accountProofOf(cx, userId, { anchor, clientId }))
}

/** The session that a token hangs from through its grant; undefined where it outlives that. */
export function sessionIdOfToken(cx: Cx, anchor: string): string | undefined {
  if (anchor.includes("/")) return undefined
  const given = cx.store.state(cx, grant, anchor)
  return given.status === "absent" ? undefined : given.sessionId
}

/** When a mailed code permitted account changes with a token, ms UTC; 0 for never. */
function accountProofOf(cx: Cx, userId: string, { anchor, clientId }: Presented): number {
  const sessionId = sessionIdOfToken(cx, anchor)
  const state = sessionId === undefined ? undefined : sessionNow(cx, sessionId)
  if (state?.userId !== userId || !state.accountProof) return 0
  const { at, clientId: provenTo = clientId } = state.accountProof
  return provenTo === clientId ? at : 0
}

function parentUntil(cx: Cx, userId: string, anchor: string): number {
  const [kind = "", ...id] = anchor.split("/")
  if (id.length === 0) return grantUntil(cx, userId, anchor)
  if (kind === "offline") return offlineUntil(cx, userId, id.join("/"))
  if (kind === "session") return sessionUntil(cx, userId, id)
  if (kind === "exchange") return exchangeUntil(cx, userId, id.join("/"))
  return credentialUntil(cx, userId, [kind, ...id])
}

/**
 * What a refreshed token hangs from. While the session goes on, its end ends what was issued until
 * then; a token that is issued later hangs from the grant alone (OpenID Connect Back-Channel
 * Logout §2.7).
 */
export function refreshedParent(cx: Cx, grantId: string): string {
  const given = cx.store.state(cx, grant, grantId)
  const sessionId = given.status === "absent" ? "" : given.sessionId
  const { status, expires } = cx.store.state(cx, session, sessionId)
  const goesOn = status === "active" && cx.clock.now() < expires
  return goesOn ? grantId : tokenParentOf("offline", grantId)
}

function grantUntil(cx: Cx, userId: string, grantId: string): number {
  const given = activeGrant(cx, userId, grantId)
  if (!given) return 0
  if (given.offline) {
    const isEnded = cx.store.state(cx, session, given.sessionId).status !== "active"
    return isEnded ? 0 : offlineUntil(cx, userId, grantId)
  }
  const until = sessionNow(cx, given.sessionId)?.expires ?? 0
  return Math.min(until, satisfiedUntil(cx, given, given))
}

/** No time ends it, but a new password does, the removal of its provider, and a stopped person. */
function offlineUntil(cx: Cx, userId: string, grantId: string): number {
  const given = activeGrant(cx, userId, grantId)
  return given && outlivesSession(cx, userId, given) ? satisfiedUntil(cx, given, given) : 0
}

function activeGrant(cx: Cx, userId: string, grantId: string) {
  const given = cx.store.state(cx, grant, grantId)
  if (given.status !== "active" || given.userId !== userId) return undefined
  return isOpenTo(cx, given.appId, userId) ? given : undefined
}

/** Whether an application is active, and a user can use it now; else its grants end as well. */
export const isOpenTo = (cx: Cx, appId: string, userId: string): boolean =>
  isAppActive(cx, appId) && appDenial(cx, userId, appId) === undefined

/** What an id_token hangs from. */
function sessionUntil(cx: Cx, userId: string, [id = "", ...appId]: readonly string[]): number {
  const state = sessionNow(cx, id)
  if (state?.userId !== userId || !isOpenTo(cx, appId.join("/"), userId)) return 0
  return Math.min(
    state.expires,
    provenUntil(cx, appId.join("/"), { userId, anchor: `session/${id}` }),
  )
}

/**
 * How the sign-in was proved that a token hangs from. Nobody signed in where somebody acts for a
 * user: that satisfies no application's requirements.
 */
function proofOf(cx: Cx, anchor: string): SignInProof {
  const [kind = "", ...rest] = anchor.split("/")
  const id = rest.join("/")
  if (kind === "session") {
    const state = cx.store.state(cx, session, rest[0] ?? "")
    return { methods: state.methods, freshAt: freshTimeOf(state) }
  }
  if (kind === "exchange") {
    const given = cx.store.state(cx, exchange, id)
    const isOwn = given.status !== "absent" && !given.actor && given.anchor !== undefined
    return isOwn ? proofOf(cx, given.anchor) : unproven
  }
  const given = cx.store.state(cx, grant, kind === "offline" ? id : anchor)
  return given.status === "absent" ? unproven : given
}

const unproven: SignInProof = { methods: [], freshAt: 0 }

/**
 * When the sign-in that a token hangs from stops to satisfy what an application requires, ms UTC; 0
 * where it does not.
 */
export const provenUntil = (cx: Cx, appId: string, { userId, anchor }: Party): number =>
  satisfiedUntil(cx, { appId, userId }, proofOf(cx, anchor))

/** Whether an access token was revoked by itself, whatever became of what it hangs from. */
export const isRevoked = (cx: Cx, tokenId: string): boolean =>
  cx.store.state(cx, revocation, tokenId).revoked

/** All that was shown must still stand, and whoever acts for another must still be allowed to. */
function exchangeUntil(cx: Cx, userId: string, id: string): number {
  const given = cx.store.state(cx, exchange, id)
  if (given.status === "absent" || given.userId !== userId) return 0
  if (!isOpenTo(cx, given.appId, userId)) return 0
  const { anchor, actor, expires, tokenIds = [] } = given
  if (actor && !mayActAs(cx, actor.userId, userId)) return 0
  if (tokenIds.some((tokenId) => isRevoked(cx, tokenId))) return 0
  if (anchor !== undefined && isWithdrawnSince(cx, userId, { id, anchor })) return 0
  return Math.min(
    expires,
    provenUntil(cx, given.appId, { userId, anchor: `exchange/${id}` }),
    anchor === undefined ? expires : parentUntil(cx, userId, anchor),
    actor ? partyUntil(cx, actor) : expires,
  )
}

type ExchangedToken = { readonly id: string; readonly anchor: string }

/** Whether a user has taken the access from the client whose id_token was exchanged. */
function isWithdrawnSince(cx: Cx, userId: string, { id, anchor }: ExchangedToken): boolean {
  const [kind, , ...appId] = anchor.split("/")
  if (kind !== "session") return false
  const exchanged = cx.store.receipt(cx, exchange, id)?.created ?? 0
  return exchanged <= withdrawnAt(cx, userId, appId.join("/"))
}

/** What a service user came with; a secret ends when it is replaced or removed. */
function credentialUntil(cx: Cx, userId: string, anchor: readonly string[]): number {
  const [kind, id = "", version = "0"] = anchor
  const state = cx.store.state(cx, user, userId)
  if (!("kind" in state) || state.kind !== "machine") return 0
  const { keys, personalTokens: tokens } = state
  if (kind === "pat") return (Object.hasOwn(tokens, id) ? tokens[id] : undefined)?.expires ?? 0
  if (version !== `${passwordVersion(cx, userId)}`) return 0
  if (kind === "secret") return state.secret?.id === id ? Number.POSITIVE_INFINITY : 0
  return (kind === "key" && Object.hasOwn(keys, id) ? keys[id] : undefined) ?? 0
}
