import { type Cx, type Draft, type Transaction, writeReadableByAll } from "../../store/index.ts"
import { freshTimeOf, recordClient, type Session, soleVoucherOf } from "../session/index.ts"
import {
  consentBasisOf,
  lastWithdrawal,
  rememberConsent,
  shownIdentityOf,
} from "./consent/remember.ts"
import { approveDevice, denyDevice } from "./device.ts"
import { recordIssuedTokens } from "./issuance.ts"
import { type GrantEvent, grant } from "./model.ts"
import { markPushedRequestUsed, requestLifetimeMs, requestOverError } from "./pushed.ts"
import {
  type AuthorizationRequest,
  type AuthRequestEvent,
  type AuthRequestState,
  authRequest,
  type ImmediateResponse,
  isForCode,
  type RequestedClaims,
} from "./request.ts"
import { recordApplicationUse } from "./use.ts"

/** Whether a request requires a fresh sign-in. */
const requiresFreshSignIn = ({
  prompts,
  maxAge,
}: Pick<AuthorizationRequest, "prompts" | "maxAge">): boolean =>
  prompts.includes("login") || maxAge !== undefined

/**
 * The `auth_time` or AuthnInstant of a response, ms UTC. If the request requires a fresh sign-in,
 * it is the time of the sign-in that satisfied it, not of a later provider response without a time.
 */
export const authTimeOf = (
  requested: Pick<AuthorizationRequest, "prompts" | "maxAge">,
  session: SignedInSession,
): number => (requiresFreshSignIn(requested) ? freshTimeOf(session) : session.authTime)

const minuteMs = 60_000

/** How long a user can take to sign in, and how long a code is valid, in ms. */
export const requestLifetimes = { request: requestLifetimeMs, code: minuteMs } as const

type AuthRequestInput = {
  /** The browser of the request; empty if a custom login page serves it. */
  readonly agentId: string
  readonly asked: AuthorizationRequest
  readonly loginHint: string
}

/** Stores an authorization request, bound to the browser that sent it, under the new ID `id`. */
export function addAuthRequest(tx: Transaction, id: string, input: AuthRequestInput): void {
  const { agentId, loginHint } = input
  const { state, nonce, ...asked } = input.asked
  const echoed = { ...(state !== undefined && { state }), ...(nonce !== undefined && { nonce }) }
  const added: Draft<AuthRequestEvent> = {
    type: "auth_request.added",
    data: { agentId, asked },
    private: { loginHint, ...echoed },
  }
  tx.begin(authRequest, id)
  tx.append(authRequest, id, [added])
}

/** An open request that a custom login page serves. */
export type CustomLoginRequest = Extract<AuthRequestState, { status: "open" }>

/**
 * The request with this ID that a custom login page serves; undefined if it is served by our own
 * login pages or is over.
 */
export function findCustomLoginRequest(cx: Cx, id: string): CustomLoginRequest | undefined {
  const state = cx.store.state(cx, authRequest, id)
  if (state.status !== "open" || state.agentId !== "") return undefined
  return cx.clock.now() < state.created + requestLifetimes.request ? state : undefined
}

/** Records the session that the user signed in with or selected for a request. */
export function linkSession(tx: Transaction, id: string, sessionId: string): void {
  requireOpenRequest(tx, id)
  const linked: Draft<AuthRequestEvent> = {
    type: "auth_request.session.linked",
    data: { sessionId },
  }
  tx.append(authRequest, id, [linked])
}

/**
 * Records that the user of a session consents to a request. The consent is remembered if it is
 * rememberable and every node can read it. Returns false, without recording anything, if the
 * identity of the application is no longer the one `shown` to the user; see `shownIdentityOf`.
 */
export async function allowRequest(
  cx: Cx,
  id: string,
  sessionId: string,
  shownIdentity?: string,
): Promise<boolean> {
  const allow = (tx: Transaction): AuthorizationRequest | undefined => {
    const asked = requireOpenRequest(tx, id)
    if (shownIdentity !== undefined && shownIdentity !== shownIdentityOf(tx, asked.appId))
      return undefined
    return recordConsent(tx, id, sessionId)
  }
  const remember = (tx: Transaction) => {
    const asked = allow(tx)
    if (asked) rememberConsent(cx, tx, asked, sessionId)
    return asked !== undefined
  }
  const step = await writeReadableByAll(
    () => cx.store.transact(cx, remember),
    () => cx.store.transact(cx, (tx) => allow(tx) !== undefined),
  )
  return step.value
}

/** Records that the user of a session consents to a request; returns the request. */
export function recordConsent(
  tx: Transaction,
  id: string,
  sessionId: string,
): AuthorizationRequest {
  const asked = requireOpenRequest(tx, id)
  const grantInput: Draft<AuthRequestEvent> = {
    type: "auth_request.consent.given",
    data: { sessionId, ...consentBasisOf(tx, sessionId, asked.appId) },
  }
  tx.append(authRequest, id, [grantInput])
  return asked
}

/** Records that the user denied consent. The error response to the client follows. */
export function denyConsent(tx: Transaction, id: string): void {
  requireOpenRequest(tx, id)
  const denied: Draft<AuthRequestEvent> = { type: "auth_request.consent.denied", data: {} }
  tx.append(authRequest, id, [denied])
}

/** Completes a request, once: with a code, or by approving the device. */
export function completeAuthRequest(tx: Transaction, id: string, sessionId: string): void {
  const { device, pushed, appId } = requireOpenRequest(tx, id)
  if (pushed) markPushedRequestUsed(tx, pushed.id)
  if (device) approveDevice(tx, device.id, sessionId)
  const added: Draft<AuthRequestEvent> = {
    type: "auth_request.code.added",
    data: { sessionId, ...lastWithdrawal(tx, sessionId, appId) },
  }
  tx.append(authRequest, id, [added])
}

/** Ends a request whose response is an error. */
export function failRequest(tx: Transaction, id: string, reason: string): void {
  const { device } = requireOpenRequest(tx, id)
  if (device) denyDevice(tx, device.id)
  const failed: Draft<AuthRequestEvent> = { type: "auth_request.failed", data: { reason } }
  tx.append(authRequest, id, [failed])
}

function requireOpenRequest(tx: Transaction, id: string): AuthorizationRequest {
  const state = tx.state(authRequest, id)
  if (state.status === "open" && tx.now < state.created + requestLifetimes.request) {
    return state.asked
  }
  throw requestOverError()
}

type SignedInSession = Pick<Session, "userId" | "methods" | "passwordVersion"> &
  Parameters<typeof freshTimeOf>[0]

/** What a user grants to a client, and for how long. */
export type GrantInput = {
  readonly clientId: string
  readonly appId: string
  readonly scopes: readonly string[]
  readonly leftOut?: readonly string[] | undefined
  readonly audience: readonly string[]
  readonly consented?: readonly string[] | undefined
  readonly claims?: RequestedClaims | undefined
  readonly sessionId: string
  readonly session: SignedInSession
  /** The `auth_time` of its ID tokens, ms UTC. */
  readonly authTime: number
  readonly accessLifetimeSeconds: number
  /** The OAuth grant type, for the audit log. */
  readonly grantType: string
  /** Present if the grant has a refresh token and outlives its session. */
  readonly offline?: {
    readonly lifetimeSeconds: number
    readonly idleLifetimeSeconds: number
    /**
     * RFC 9449 §5: thumbprint of the key that a client without a secret must prove possession of.
     */
    readonly jkt?: string
  }
}

/** Adds a grant for the user of a session. All tokens for the user depend on a grant. */
export function addGrant(tx: Transaction, grantInput: GrantInput): string {
  const { session, authTime, offline, consented, leftOut, claims, grantType, ...rest } = grantInput
  const { userId, methods, passwordVersion } = session
  const id = tx.ids.next()
  const added: Draft<GrantEvent> = {
    type: "oidc_session.added",
    data: {
      ...rest,
      ...(leftOut && grantInput.scopes.includes("offline_access") && { leftOut }),
      ...(consented && { consented }),
      ...(claims && { claims }),
      userId,
      authTime,
      methods,
      freshAt: freshTimeOf(session),
    },
  }
  tx.begin(grant, id)
  tx.append(grant, id, [added])
  recordClient(tx, grantInput.sessionId, grantInput.clientId)
  if (offline) {
    const vouched = soleVoucherOf(session)
    const voucher = vouched && { idpId: vouched.idpId, idpOrg: vouched.idpOrg }
    const refreshable: Draft<GrantEvent> = {
      type: "oidc_session.refresh_token.added",
      data: { ...offline, passwordVersion, ...(voucher && { voucher }) },
    }
    tx.append(grant, id, [refreshable])
  }
  const { clientId, scopes } = grantInput
  recordIssuedTokens(tx, id, { grantId: id, clientId, userId, grantType, scopes })
  // ID tokens from the front channel contain the profile claims if the client needs them.
  const profile = grantType !== "implicit" && profileScopes.some((each) => scopes.includes(each))
  recordApplicationUse(tx, userId, grantInput.appId, { profile, dropped: leftOut ?? [] })
  return id
}

/** Scopes whose claims contain the user's name and email address. */
const profileScopes = ["profile", "email"] as const

/** Identifies the completed request of a code. */
export type CodeReference = { readonly id: string; readonly atOnce?: ImmediateResponse | undefined }

/** The request of a code: stored here, or contained in the code itself. */
export function requestOfCode(
  read: Pick<Transaction, "state">,
  { id, atOnce }: CodeReference,
): AuthRequestState {
  const state = read.state(authRequest, id)
  if (state.status !== "absent" || !atOnce) return state
  return { ...atOnce, status: "answered", agentId: "", loginHint: "", created: atOnce.codeAt }
}

/** Exchanges a completed request for a grant; the caller has already verified the code. */
export function exchangeCode(
  tx: Transaction,
  answered: CodeReference,
  grantInput: Omit<GrantInput, "sessionId" | "grantType" | "authTime">,
): string {
  const { id, atOnce } = answered
  const state = requestOfCode(tx, answered)
  if (state.status !== "answered") throw new Error("only a completed request can be exchanged")
  const { sessionId, asked } = state
  const grantType = isForCode(asked) ? "authorization_code" : "implicit"
  const authTime = authTimeOf(asked, grantInput.session)
  const grantId = addGrant(tx, { ...grantInput, sessionId, grantType, authTime })
  const exchanged: Draft<AuthRequestEvent> = {
    type: "auth_request.code.exchanged",
    data: { grantId, ...(atOnce && { clientId: asked.clientId }) },
  }
  tx.append(authRequest, id, [exchanged])
  return grantId
}

/** Ends a grant and all tokens that depend on it; no-op if it has already ended. */
export function endGrant(tx: Transaction, id: string, reason: string): void {
  if (tx.state(grant, id).status !== "active") return
  const ended: Draft<GrantEvent> = { type: "oidc_session.terminated", data: { reason } }
  tx.append(grant, id, [ended])
}
