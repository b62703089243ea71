import { type Cx, type Draft, readableByAll, type Transaction } from "../../store/index.ts"
import { freshTimeOf, noteClient, type Session, soleVoucherOf } from "../session/index.ts"
import { allowedWhen, identityShown, lastWithdrawal, rememberConsent } from "./consent/remember.ts"
import { approveDevice, denyDevice } from "./device.ts"
import { noteIssued } from "./issuance.ts"
import { type GrantEvent, grant } from "./model.ts"
import { requestLifetimeMs, requestOverError, spendPushedRequest } from "./pushed.ts"
import {
  type AnsweredAtOnce,
  type AuthRequest,
  type AuthRequestEvent,
  authRequest,
  isForCode,
  type Requested,
  type RequestedClaims,
} from "./request.ts"
import { noteUse } from "./use.ts"

/** Whether a request requires a fresh sign-in. */
const asksForFresh = ({ prompts, maxAge }: Pick<Requested, "prompts" | "maxAge">): boolean =>
  prompts.includes("login") || maxAge !== undefined

/**
 * The `auth_time` or AuthnInstant of an answer, ms UTC: where the request requires a fresh sign-in,
 * the one that satisfied it, not a later answer of a provider that states no time.
 */
export const authTimeFor = (
  requested: Pick<Requested, "prompts" | "maxAge">,
  session: SignedIn,
): number => (asksForFresh(requested) ? freshTimeOf(session) : session.authTime)

const minute = 60_000

/** How long a person has to sign in, and a client to use its code. */
export const requestLifetimes = { request: requestLifetimeMs, code: minute } as const

type NewRequest = {
  /** The browser that it waits in; empty where a login page of somebody else serves it. */
  readonly agentId: string
  readonly asked: Requested
  readonly loginHint: string
}

/** Keeps what a client asked for, bound to the browser it was asked in; `id` is made for it. */
export function addAuthRequest(tx: Transaction, id: string, input: NewRequest): void {
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

/** An open request that a login page of somebody else serves. */
export type HandedRequest = Extract<AuthRequest, { status: "open" }>

/** The request of this id that a login page serves; undefined for one of ours, or that is over. */
export function handedRequest(cx: Cx, id: string): HandedRequest | undefined {
  const state = cx.store.state(cx, authRequest, id)
  if (state.status !== "open" || state.agentId !== "") return undefined
  return cx.clock.now() < state.created + requestLifetimes.request ? state : undefined
}

/** Notes which session the person signed in with or chose for a request. */
export function linkSession(tx: Transaction, id: string, sessionId: string): void {
  openRequest(tx, id)
  const linked: Draft<AuthRequestEvent> = {
    type: "auth_request.session.linked",
    data: { sessionId },
  }
  tx.append(authRequest, id, [linked])
}

/**
 * The user of a session allows what a request asks for. It is remembered where it may be, and where
 * every node can read that. Answers false, and allows nothing, where the application is not `shown`
 * to the user as it is: see `identityShown`.
 */
export async function allowRequest(
  cx: Cx,
  id: string,
  sessionId: string,
  shown?: string,
): Promise<boolean> {
  const allow = (tx: Transaction): Requested | undefined => {
    const asked = openRequest(tx, id)
    if (shown !== undefined && shown !== identityShown(tx, asked.appId)) return undefined
    return giveConsent(tx, id, sessionId)
  }
  const remember = (tx: Transaction) => {
    const asked = allow(tx)
    if (asked) rememberConsent(cx, tx, asked, sessionId)
    return asked !== undefined
  }
  const step = await readableByAll(
    () => cx.store.transact(cx, remember),
    () => cx.store.transact(cx, (tx) => allow(tx) !== undefined),
  )
  return step.value
}

/** Notes that the user of a session allows what a request asks for; answers the request. */
export function giveConsent(tx: Transaction, id: string, sessionId: string): Requested {
  const asked = openRequest(tx, id)
  const given: Draft<AuthRequestEvent> = {
    type: "auth_request.consent.given",
    data: { sessionId, ...allowedWhen(tx, sessionId, asked.appId) },
  }
  tx.append(authRequest, id, [given])
  return asked
}

/** Notes that the person refuses; what is left to do is to tell the client. */
export function denyConsent(tx: Transaction, id: string): void {
  openRequest(tx, id)
  const denied: Draft<AuthRequestEvent> = { type: "auth_request.consent.denied", data: {} }
  tx.append(authRequest, id, [denied])
}

/** Answers a request, once: with a code, or by what a device may fetch from now on. */
export function answerRequest(tx: Transaction, id: string, sessionId: string): void {
  const { device, pushed, appId } = openRequest(tx, id)
  if (pushed) spendPushedRequest(tx, pushed.id)
  if (device) approveDevice(tx, device.id, sessionId)
  const added: Draft<AuthRequestEvent> = {
    type: "auth_request.code.added",
    data: { sessionId, ...lastWithdrawal(tx, sessionId, appId) },
  }
  tx.append(authRequest, id, [added])
}

/** Ends a request that was answered with an error. */
export function failRequest(tx: Transaction, id: string, reason: string): void {
  const { device } = openRequest(tx, id)
  if (device) denyDevice(tx, device.id)
  const failed: Draft<AuthRequestEvent> = { type: "auth_request.failed", data: { reason } }
  tx.append(authRequest, id, [failed])
}

function openRequest(tx: Transaction, id: string): Requested {
  const state = tx.state(authRequest, id)
  if (state.status === "open" && tx.now < state.created + requestLifetimes.request) {
    return state.asked
  }
  throw requestOverError()
}

type SignedIn = Pick<Session, "userId" | "methods" | "passwordVersion"> &
  Parameters<typeof freshTimeOf>[0]

/** What a person allows a client, and for how long. */
export type NewGrant = {
  readonly clientId: string
  readonly appId: string
  readonly scopes: readonly string[]
  readonly leftOut?: readonly string[] | undefined
  readonly audience: readonly string[]
  readonly consented?: readonly string[] | undefined
  readonly claims?: RequestedClaims | undefined
  readonly sessionId: string
  readonly session: SignedIn
  /** The `auth_time` of its ID tokens, ms UTC. */
  readonly authTime: number
  readonly accessLifetimeSeconds: number
  /** By which grant of OAuth; for the audit. */
  readonly grantType: string
  /** Present where the grant outlives its session, by a refresh token. */
  readonly offline?: {
    readonly lifetimeSeconds: number
    readonly idleLifetimeSeconds: number
    /** RFC 9449 §5: of the key that a client without a secret must show to use it. */
    readonly jkt?: string
  }
}

/** Adds a grant for the person of a session; every token for them hangs from one. */
export function addGrant(tx: Transaction, given: NewGrant): string {
  const { session, authTime, offline, consented, leftOut, claims, grantType, ...rest } = given
  const { userId, methods, passwordVersion } = session
  const id = tx.ids.next()
  const added: Draft<GrantEvent> = {
    type: "oidc_session.added",
    data: {
      ...rest,
      ...(leftOut && given.scopes.includes("offline_access") && { leftOut }),
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
  noteClient(tx, given.sessionId, given.clientId)
  if (offline) {
    const vouched = soleVoucherOf(session)
    const voucher = vouched && { idpId: vouched.idpId, idpOrg: vouched.idpOrg }
    const refreshable: Draft<GrantEvent> = {
      type: "oidc_session.refresh_token.added",
      data: { ...offline, passwordVersion, ...(voucher && { voucher }) },
    }
    tx.append(grant, id, [refreshable])
  }
  const { clientId, scopes } = given
  noteIssued(tx, id, { grantId: id, clientId, userId, grantType, scopes })
  // What comes by the front channel has the claims of the scopes in its ID token, or needs none.
  const profile = grantType !== "implicit" && profileScopes.some((each) => scopes.includes(each))
  noteUse(tx, userId, given.appId, { profile, dropped: leftOut ?? [] })
  return id
}

/** Scopes whose claims tell an application the user's name and address. */
const profileScopes = ["profile", "email"] as const

/** What a code stands for. */
export type Answered = { readonly id: string; readonly atOnce?: AnsweredAtOnce | undefined }

/** The request that a code answers, whether it is kept here or stands in the code alone. */
export function requestOf(read: Pick<Transaction, "state">, { id, atOnce }: Answered): AuthRequest {
  const state = read.state(authRequest, id)
  if (state.status !== "absent" || !atOnce) return state
  return { ...atOnce, status: "answered", agentId: "", loginHint: "", created: atOnce.codeAt }
}

/** Turns an answered request into a grant; the caller has checked that the code is right. */
export function exchangeCode(
  tx: Transaction,
  answered: Answered,
  given: Omit<NewGrant, "sessionId" | "grantType" | "authTime">,
): string {
  const { id, atOnce } = answered
  const state = requestOf(tx, answered)
  if (state.status !== "answered") throw new Error("only an answered request can be exchanged")
  const { sessionId, asked } = state
  const grantType = isForCode(asked) ? "authorization_code" : "implicit"
  const authTime = authTimeFor(asked, given.session)
  const grantId = addGrant(tx, { ...given, sessionId, grantType, authTime })
  const exchanged: Draft<AuthRequestEvent> = {
    type: "auth_request.code.exchanged",
    data: { grantId, ...(atOnce && { clientId: asked.clientId }) },
  }
  tx.append(authRequest, id, [exchanged])
  return grantId
}

/** Ends a grant, and with it every token that hangs from it. Twice is once. */
export function endGrant(tx: Transaction, id: string, reason: string): void {
  if (tx.state(grant, id).status !== "active") return
  const ended: Draft<GrantEvent> = { type: "oidc_session.terminated", data: { reason } }
  tx.append(grant, id, [ended])
}
