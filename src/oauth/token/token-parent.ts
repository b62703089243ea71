import { isAppActive } from "../../domain/app/index.ts"
import {
  findAppDenial,
  type SignInProof,
  signInProofExpiry,
} from "../../domain/app-access/index.ts"
import {
  exchange,
  grant,
  outlivesSession,
  type Party,
  revocation,
  withdrawnAt,
} from "../../domain/grant/index.ts"
import { isOrgActive } from "../../domain/org/index.ts"
import { findSession, freshTimeOf, session } from "../../domain/session/index.ts"
import { isUserActive, passwordVersion } from "../../domain/user-lookup/index.ts"
import { user } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"
import { canImpersonate } from "./impersonation.ts"

/**
 * What tokens depend on, besides their user: a grant together with its session, as its ID alone;
 * or, as kind and ID, a grant without its session, a session with an application, a token exchange,
 * or a credential of a service account.
 */
type TokenParentKind = "exchange" | "key" | "offline" | "secret" | "session" | "pat"

/** A personal access token depends on itself. */
export const tokenParentOf = (kind: TokenParentKind, id: string): string => `${kind}/${id}`

/**
 * A service account obtains tokens with a key or a secret: they end with that credential, and
 * permanently when the account or its organization is deactivated.
 */
export const credentialParent = (
  cx: Cx,
  kind: "key" | "secret",
  { userId, id }: { readonly userId: string; readonly id: string },
): string => tokenParentOf(kind, `${id}/${passwordVersion(cx, userId)}`)

/**
 * When the parent of a party's tokens ends, ms UTC; 0 if it has ended, or if the user or their
 * organization is not active.
 */
export function partyExpiry(cx: Cx, { userId, anchor }: Party): number {
  if (!isUserActive(cx, userId) || !isOrgActive(cx, orgOf(cx, userId))) return 0
  return parentExpiry(cx, userId, anchor)
}

/**
 * Whether a grant would be active if its user could use the application: the user is signed in, but
 * access is denied.
 */
export function isAccessDenied(cx: Cx, { userId, anchor }: Party): boolean {
  if (!isUserActive(cx, userId) || !isOrgActive(cx, orgOf(cx, userId))) return false
  const parentState = cx.store.state(cx, grant, anchor)
  if (parentState.status !== "active" || parentState.userId !== userId) return false
  if (!isAppActive(cx, parentState.appId) || isOpenToUser(cx, parentState.appId, userId))
    return false
  return findSession(cx, parentState.sessionId)?.userId === userId
}

/** The organization of a user. */
export const orgOf = (cx: Cx, userId: string): string =>
  cx.store.receipt(cx, user, userId)?.owner ?? ""

/** The parent of a token, and the client that it was issued to. */
type TokenReference = { readonly anchor: string; readonly clientId: string }

/**
 * Time of the last verified sign-in in the session of a token, ms UTC; 0 if unknown. Undefined for
 * service accounts, which authenticate with credentials.
 */
export function freshTimeOfToken(
  cx: Cx,
  userId: string,
  { anchor, clientId }: TokenReference,
): number | undefined {
  const state = cx.store.state(cx, user, userId)
  if ("kind" in state && state.kind === "machine") return undefined
  const [kind = "", ...rest] = anchor.split("/")
  const id = rest.join("/")
  if (kind === "session") return freshTimeOf(cx.store.state(cx, session, rest[0] ?? ""))
  if (kind === "exchange") {
    const parentState = cx.store.state(cx, exchange, id)
    const before = parentState.status === "absent" ? undefined : parentState.anchor
    return before === undefined ? 0 : freshTimeOfToken(cx, userId, { anchor: before, clientId })
  }
  const parentState = cx.store.state(cx, grant, kind === "offline" ? id : anchor)
  if (parentState.status === "absent") return 0
  return Math.max(parentState.freshAt, accountProofOf(cx, userId, { anchor, clientId }))
}

/** The session of a token's grant; undefined if the token outlives it. */
export function sessionIdOfToken(cx: Cx, anchor: string): string | undefined {
  if (anchor.includes("/")) return undefined
  const parentState = cx.store.state(cx, grant, anchor)
  return parentState.status === "absent" ? undefined : parentState.sessionId
}

/** When an email code permitted account changes with a token, ms UTC; 0 if never. */
function accountProofOf(cx: Cx, userId: string, { anchor, clientId }: TokenReference): number {
  const sessionId = sessionIdOfToken(cx, anchor)
  const state = sessionId === undefined ? undefined : findSession(cx, sessionId)
  if (state?.userId !== userId || !state.accountProof) return 0
  const { at, clientId: provenTo = clientId } = state.accountProof
  return provenTo === clientId ? at : 0
}

function parentExpiry(cx: Cx, userId: string, anchor: string): number {
  const [kind = "", ...id] = anchor.split("/")
  if (id.length === 0) return grantExpiry(cx, userId, anchor)
  if (kind === "offline") return offlineExpiry(cx, userId, id.join("/"))
  if (kind === "session") return sessionExpiry(cx, userId, id)
  if (kind === "exchange") return exchangeExpiry(cx, userId, id.join("/"))
  return credentialExpiry(cx, userId, [kind, ...id])
}

/**
 * The parent of a refreshed token. While the session is active, its end revokes the tokens issued
 * until then; tokens issued later depend on the grant alone (OpenID Connect Back-Channel Logout
 * §2.7).
 */
export function refreshedParent(cx: Cx, grantId: string): string {
  const parentState = cx.store.state(cx, grant, grantId)
  const sessionId = parentState.status === "absent" ? "" : parentState.sessionId
  const { status, expires } = cx.store.state(cx, session, sessionId)
  const isSessionActive = status === "active" && cx.clock.now() < expires
  return isSessionActive ? grantId : tokenParentOf("offline", grantId)
}

function grantExpiry(cx: Cx, userId: string, grantId: string): number {
  const parentState = findActiveGrant(cx, userId, grantId)
  if (!parentState) return 0
  if (parentState.offline) {
    const isEnded = cx.store.state(cx, session, parentState.sessionId).status !== "active"
    return isEnded ? 0 : offlineExpiry(cx, userId, grantId)
  }
  const sessionEnd = findSession(cx, parentState.sessionId)?.expires ?? 0
  return Math.min(sessionEnd, signInProofExpiry(cx, parentState, parentState))
}

/**
 * It does not expire, but ends with a new password, the removal of the provider, or the
 * deactivation of the user.
 */
function offlineExpiry(cx: Cx, userId: string, grantId: string): number {
  const parentState = findActiveGrant(cx, userId, grantId)
  return parentState && outlivesSession(cx, userId, parentState)
    ? signInProofExpiry(cx, parentState, parentState)
    : 0
}

function findActiveGrant(cx: Cx, userId: string, grantId: string) {
  const parentState = cx.store.state(cx, grant, grantId)
  if (parentState.status !== "active" || parentState.userId !== userId) return undefined
  return isOpenToUser(cx, parentState.appId, userId) ? parentState : undefined
}

/**
 * Whether an application is active and the user can currently use it; otherwise, its grants also
 * end.
 */
export const isOpenToUser = (cx: Cx, appId: string, userId: string): boolean =>
  isAppActive(cx, appId) && findAppDenial(cx, userId, appId) === undefined

/** When the session of an ID token ends, ms UTC. */
function sessionExpiry(cx: Cx, userId: string, [id = "", ...appId]: readonly string[]): number {
  const state = findSession(cx, id)
  if (state?.userId !== userId || !isOpenToUser(cx, appId.join("/"), userId)) return 0
  return Math.min(
    state.expires,
    tokenProofExpiry(cx, appId.join("/"), { userId, anchor: `session/${id}` }),
  )
}

/**
 * How and when the user of a token signed in. If another user acts for them, they did not sign in
 * themselves, which satisfies no application's requirements.
 */
function proofOf(cx: Cx, anchor: string): SignInProof {
  const [kind = "", ...rest] = anchor.split("/")
  const id = rest.join("/")
  if (kind === "session") {
    const state = cx.store.state(cx, session, rest[0] ?? "")
    return { methods: state.methods, freshAt: freshTimeOf(state) }
  }
  if (kind === "exchange") {
    const parentState = cx.store.state(cx, exchange, id)
    const isOwn =
      parentState.status !== "absent" && !parentState.actor && parentState.anchor !== undefined
    return isOwn ? proofOf(cx, parentState.anchor) : noProof
  }
  const parentState = cx.store.state(cx, grant, kind === "offline" ? id : anchor)
  return parentState.status === "absent" ? noProof : parentState
}

const noProof: SignInProof = { methods: [], freshAt: 0 }

/**
 * When the sign-in that a token depends on stops satisfying an application's requirements, ms UTC;
 * 0 if it doesn't satisfy them.
 */
export const tokenProofExpiry = (cx: Cx, appId: string, { userId, anchor }: Party): number =>
  signInProofExpiry(cx, { appId, userId }, proofOf(cx, anchor))

/** Whether an access token itself was revoked, whatever the state of its parent. */
export const isRevoked = (cx: Cx, tokenId: string): boolean =>
  cx.store.state(cx, revocation, tokenId).revoked

/** All exchanged tokens must still be valid, and an actor must still have the permission. */
function exchangeExpiry(cx: Cx, userId: string, id: string): number {
  const parentState = cx.store.state(cx, exchange, id)
  if (parentState.status === "absent" || parentState.userId !== userId) return 0
  if (!isOpenToUser(cx, parentState.appId, userId)) return 0
  const { anchor, actor, expires, tokenIds = [] } = parentState
  if (actor && !canImpersonate(cx, actor.userId, userId)) return 0
  if (tokenIds.some((tokenId) => isRevoked(cx, tokenId))) return 0
  if (anchor !== undefined && isWithdrawnSince(cx, userId, { id, anchor })) return 0
  return Math.min(
    expires,
    tokenProofExpiry(cx, parentState.appId, { userId, anchor: `exchange/${id}` }),
    anchor === undefined ? expires : parentExpiry(cx, userId, anchor),
    actor ? partyExpiry(cx, actor) : expires,
  )
}

type ExchangedToken = { readonly id: string; readonly anchor: string }

/** Whether the user has withdrawn the access of the client whose ID token was exchanged. */
function isWithdrawnSince(cx: Cx, userId: string, { id, anchor }: ExchangedToken): boolean {
  const [kind, , ...appId] = anchor.split("/")
  if (kind !== "session") return false
  const exchanged = cx.store.receipt(cx, exchange, id)?.created ?? 0
  return exchanged <= withdrawnAt(cx, userId, appId.join("/"))
}

/**
 * When the credential of a service account ends, ms UTC; a secret ends when it is replaced or
 * removed.
 */
function credentialExpiry(cx: Cx, userId: string, anchor: readonly string[]): number {
  const [kind, id = "", version = "0"] = anchor
  const state = cx.store.state(cx, user, userId)
  if (!("kind" in state) || state.kind !== "machine") return 0
  const { keys, personalTokens: tokens } = state
  if (kind === "pat") return (Object.hasOwn(tokens, id) ? tokens[id] : undefined)?.expires ?? 0
  if (version !== `${passwordVersion(cx, userId)}`) return 0
  if (kind === "secret") return state.secret?.id === id ? Number.POSITIVE_INFINITY : 0
  return (kind === "key" && Object.hasOwn(keys, id) ? keys[id] : undefined) ?? 0
}
