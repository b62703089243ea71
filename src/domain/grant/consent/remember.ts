import { isLoopback } from "../../../protocol/redirect-uri.ts"
import type { Cx, Decision, Draft, Transaction } from "../../../store/index.ts"
import { type ApiApp, apisNamed, app, isGone, scopesFor } from "../../app/index.ts"
import { canUseClient } from "../../app-access/index.ts"
import { mayEnter } from "../../authorization/index.ts"
import { vouchesFor } from "../../idp/index.ts"
import { consentLifetimeOf, requireInstance } from "../../instance/index.ts"
import { session, soleVoucherOf } from "../../session/index.ts"
import { signInVersion } from "../../user-lookup/index.ts"
import { readerOf, user } from "../../user-model/index.ts"
import type { AuthRequest, Requested } from "../request.ts"
import {
  applicationConsents,
  type ConsentEvent,
  type ConsentScope,
  consentsId,
  covers,
  type RememberedConsent,
} from "./model.ts"

type ConsentRequest = Pick<
  Requested,
  "appId" | "redirectUri" | "scopes" | "audience" | "foreign" | "claims" | "testedBy"
>

/**
 * RFC 8252 §8.6: any local program can pose as a client on the user's own device, so only a client
 * that others reach by https is remembered.
 */
export function isRememberable(redirectUri: string): boolean {
  const { protocol, hostname = "" } = URL.parse(redirectUri) ?? {}
  const host = hostname.replace(/\.$/, "")
  return (
    protocol === "https:" && !isLoopback(host) && !otherLoopbacks.some((form) => form.test(host))
  )
}

/** RFC 6761 §6.3; 0.0.0.0 and ::, by which systems reach themselves; and IPv4 within IPv6. */
const otherLoopbacks = [
  /\.localhost$/,
  /^0\.0\.0\.0$|^\[::\]$/,
  /^\[::ffff:(7f[\da-f]{2}:[\da-f]{1,4}|0:0)\]$/,
]

/**
 * How long a consent to a request is remembered, in seconds; 0 where the user is asked each time.
 * What may manage the instance in the user's name is asked each time, and so is a test.
 */
export function rememberedSeconds(cx: Cx, request: ConsentRequest): number {
  const { projectId, oidc } = requireInstance(cx)
  const { appId, redirectUri, foreign = [], testedBy } = request
  if (registrationOf(readerOf(cx), appId) === undefined || testedBy !== undefined) return 0
  if (!isRememberable(redirectUri) || foreign.includes(projectId)) return 0
  return consentLifetimeOf(oidc.registration)
}

/** Part of the step in which the user of a session allows what a request asks for. */
export function rememberConsent(
  cx: Cx,
  tx: Transaction,
  request: ConsentRequest,
  sessionId: string,
): void {
  const by = tx.state(session, sessionId)
  const { userId } = by
  const lifetimeSeconds = rememberedSeconds(cx, request)
  const registration = registrationOf(tx, request.appId)
  const version = signInVersion(tx, userId)
  if (lifetimeSeconds === 0 || !registration || version === undefined) return
  const { appId } = request
  const voucher = soleVoucherOf(by)
  const added: Draft<ConsentEvent> = {
    type: "application.consent.added",
    data: {
      userId,
      appId,
      ...scopeOf(cx, request, userId),
      signInVersion: version,
      identity: registration.identity,
      lifetimeSeconds,
      ...(voucher && { voucher: { idpId: voucher.idpId, idpOrg: voucher.idpOrg } }),
    },
  }
  const id = consentsId(userId, appId)
  tx.append(applicationConsents, id, [added], tx.owner(user, userId))
}

/** Whether a user has allowed all that a request asks for, and it is still remembered. */
export const isConsentRemembered = (cx: Cx, request: ConsentRequest, userId: string): boolean =>
  rememberedSeconds(cx, request) > 0 &&
  consentsNow(cx, userId, request.appId).some((each) => covers(each, scopeOf(cx, request, userId)))

/**
 * What a user allowed an application and what is still valid, the newest last; `expires` is as the
 * instance limits it now.
 */
export function consentsNow(cx: Cx, userId: string, appId: string): readonly RememberedConsent[] {
  const lifetimeMs = consentLifetimeOf(requireInstance(cx).oidc.registration) * 1000
  const read = readerOf(cx)
  const identity = registrationOf(read, appId)?.identity
  const version = signInVersion(read, userId)
  const now = cx.clock.now()
  const { remembered } = cx.store.state(cx, applicationConsents, consentsId(userId, appId))
  return remembered
    .filter((each) => each.identity === identity && each.signInVersion === version)
    .filter(({ voucher }) => voucher === undefined || vouchesFor(cx, userId, voucher))
    .map((each) => ({ ...each, expires: Math.min(each.expires, each.given + lifetimeMs) }))
    .filter(({ given, expires }) => given - skewMs < now && now < expires)
}

/** Nodes may differ by as much; what is from later was given by a clock that was wrong. */
const skewMs = 60_000

/**
 * The projects of others and the APIs that a request names to this user; see `consentedAmong` of
 * `oauth`. A project stands for all its APIs, also for those that come later.
 */
function scopeOf(cx: Cx, request: ConsentRequest, userId: string): ConsentScope {
  const { redirectUri, scopes, audience, foreign = [], claims } = request
  const projects = foreign.filter((id) => mayEnter(cx, userId, id) === "yes")
  const isOpen = ({ clientId }: ApiApp) => canUseClient(cx, userId, clientId)
  const defined = scopesFor(cx, audience)
  const requested = scopes.flatMap((scope) => defined.get(scope) ?? [])
  const apis = [
    ...apisNamed(cx, audience)
      .filter(isOpen)
      .map(({ clientId }) => clientId),
    ...requested
      .filter(({ api }) => isOpen(api))
      .map(({ api, scope }) => `${api.clientId} ${scope}`),
  ]
  return {
    redirectUri,
    scopes,
    audience,
    projects,
    ...(apis.length > 0 && { apis }),
    ...(claims && { claims }),
  }
}

function registrationOf(read: Pick<Decision, "state">, appId: string) {
  const state = read.state(app, appId)
  return isGone(state) ? undefined : state.registration
}

/** Stands for the name and the keys of an application that registered itself, on the page. */
export const identityShown = (read: Pick<Decision, "state">, appId: string): string =>
  String(registrationOf(read, appId)?.identity ?? "")

/** Withdraws all that a user allowed an application, also by a code that is not used yet. */
export function withdrawConsent(tx: Transaction, userId: string, appId: string, reason: string) {
  const removed: Draft<ConsentEvent> = {
    type: "application.consent.removed",
    data: { userId, appId, withdrawalId: tx.ids.next(), reason },
  }
  const id = consentsId(userId, appId)
  tx.append(applicationConsents, id, [removed], tx.owner(user, userId))
}

/** The last withdrawal of the user of a session, as the answer to a request keeps it. */
export function lastWithdrawal(
  tx: Pick<Decision, "state">,
  sessionId: string,
  appId: string,
): { readonly withdrawalId?: string } {
  const { userId } = tx.state(session, sessionId)
  const { withdrawalId } = tx.state(applicationConsents, consentsId(userId, appId))
  return withdrawalId === "" ? {} : { withdrawalId }
}

/** What a consent of the user of a session relies on until the request is answered. */
export function allowedWhen(tx: Pick<Decision, "state">, sessionId: string, appId: string) {
  const { withdrawalId = "" } = lastWithdrawal(tx, sessionId, appId)
  const identity = registrationOf(tx, appId)?.identity
  return { withdrawalId, ...(identity !== undefined && { identity }) }
}

/**
 * The session whose user has allowed an open request, unless they have withdrawn or the application
 * has another identity since.
 */
export function consentTo(
  tx: Pick<Decision, "state">,
  { asked: { appId }, consent, allowedWhen: given = {} }: Allowed,
): string | undefined {
  if (consent === undefined) return undefined
  const now = allowedWhen(tx, consent, appId)
  const isOver =
    (given.withdrawalId !== undefined && given.withdrawalId !== now.withdrawalId) ||
    (given.identity !== undefined && given.identity !== now.identity)
  return isOver ? undefined : consent
}

type Allowed = Pick<Extract<AuthRequest, { status: "open" }>, "consent" | "allowedWhen"> & {
  readonly asked: Pick<Requested, "appId">
}

/** Whether the user of a session has withdrawn since a request was answered. */
export function isWithdrawn(
  tx: Pick<Decision, "state">,
  answered: { readonly sessionId: string; readonly withdrawalId?: string },
  appId: string,
): boolean {
  const { withdrawalId } = lastWithdrawal(tx, answered.sessionId, appId)
  return withdrawalId !== undefined && withdrawalId !== answered.withdrawalId
}

/** When a user last withdrew the access of an application, ms UTC; 0 where they have not. */
export const withdrawnAt = (cx: Cx, userId: string, appId: string): number =>
  cx.store.state(cx, applicationConsents, consentsId(userId, appId)).withdrawn
