import { isLoopback } from "../../../protocol/redirect-uri.ts"
import type { Cx, DecisionContext, Draft, Transaction } from "../../../store/index.ts"
import { type ApiApp, apisInAudience, app, isMissing, scopesFor } from "../../app/index.ts"
import { canUseClient } from "../../app-access/index.ts"
import { projectAccessOf } from "../../authorization/index.ts"
import { vouchesFor } from "../../idp/index.ts"
import { consentLifetimeOf, requireInstance } from "../../instance/index.ts"
import { session, soleVoucherOf } from "../../session/index.ts"
import { signInVersion } from "../../user-lookup/index.ts"
import { createReader, user } from "../../user-model/index.ts"
import type { AuthorizationRequest, AuthRequestState } from "../request.ts"
import {
  applicationConsents,
  type ConsentEvent,
  type ConsentScope,
  consentsId,
  coversRequest,
  type RememberedConsent,
} from "./model.ts"

type ConsentRequest = Pick<
  AuthorizationRequest,
  "appId" | "redirectUri" | "scopes" | "audience" | "foreign" | "claims" | "testedBy"
>

/**
 * RFC 8252 §8.6: any local program can impersonate a client on the user's own device, so consents
 * are remembered only for redirects over https to other hosts.
 */
export function isRememberable(redirectUri: string): boolean {
  const { protocol, hostname = "" } = URL.parse(redirectUri) ?? {}
  const host = hostname.replace(/\.$/, "")
  return (
    protocol === "https:" && !isLoopback(host) && !otherLoopbacks.some((form) => form.test(host))
  )
}

/**
 * RFC 6761 §6.3; 0.0.0.0 and ::, which systems route to themselves; and IPv4-mapped IPv6 addresses.
 */
const otherLoopbacks = [
  /\.localhost$/,
  /^0\.0\.0\.0$|^\[::\]$/,
  /^\[::ffff:(7f[\da-f]{2}:[\da-f]{1,4}|0:0)\]$/,
]

/**
 * How long a consent to a request is remembered, in seconds; 0 if the user is asked each time. This
 * applies to access to the management API and to tests.
 */
export function rememberedSeconds(cx: Cx, request: ConsentRequest): number {
  const { projectId, oidc } = requireInstance(cx)
  const { appId, redirectUri, foreign = [], testedBy } = request
  if (registrationOf(createReader(cx), appId) === undefined || testedBy !== undefined) return 0
  if (!isRememberable(redirectUri) || foreign.includes(projectId)) return 0
  return consentLifetimeOf(oidc.registration)
}

/** Remembers the consent of the user of a session; part of the transaction that records it. */
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
      ...consentScopeOf(cx, request, userId),
      signInVersion: version,
      identity: registration.identity,
      lifetimeSeconds,
      ...(voucher && { voucher: { idpId: voucher.idpId, idpOrg: voucher.idpOrg } }),
    },
  }
  const id = consentsId(userId, appId)
  tx.append(applicationConsents, id, [added], tx.owner(user, userId))
}

/** Whether a remembered, still valid consent of a user covers a request. */
export const isConsentRemembered = (cx: Cx, request: ConsentRequest, userId: string): boolean =>
  rememberedSeconds(cx, request) > 0 &&
  listValidConsents(cx, userId, request.appId).some((each) =>
    coversRequest(each, consentScopeOf(cx, request, userId)),
  )

/**
 * The valid consents of a user to an application, newest last; `expires` is limited by the current
 * settings of the instance.
 */
export function listValidConsents(
  cx: Cx,
  userId: string,
  appId: string,
): readonly RememberedConsent[] {
  const lifetimeMs = consentLifetimeOf(requireInstance(cx).oidc.registration) * 1000
  const read = createReader(cx)
  const identity = registrationOf(read, appId)?.identity
  const version = signInVersion(read, userId)
  const now = cx.clock.now()
  const { remembered } = cx.store.state(cx, applicationConsents, consentsId(userId, appId))
  return remembered
    .filter((each) => each.identity === identity && each.signInVersion === version)
    .filter(({ voucher }) => voucher === undefined || vouchesFor(cx, userId, voucher))
    .map((each) => ({ ...each, expires: Math.min(each.expires, each.given + lifetimeMs) }))
    .filter(({ given: basis, expires }) => basis - skewMs < now && now < expires)
}

/**
 * The maximum clock difference between nodes. Later consents are from a node with a wrong clock.
 */
const skewMs = 60_000

/**
 * The projects of other organizations and the APIs in a request that the user must allow
 * explicitly; see `consentedAmong` in `oauth`. A project includes all its APIs, also those added
 * later.
 */
function consentScopeOf(cx: Cx, request: ConsentRequest, userId: string): ConsentScope {
  const { redirectUri, scopes, audience, foreign = [], claims } = request
  const projects = foreign.filter((id) => projectAccessOf(cx, userId, id) === "yes")
  const isOpen = ({ clientId }: ApiApp) => canUseClient(cx, userId, clientId)
  const defined = scopesFor(cx, audience)
  const requested = scopes.flatMap((scope) => defined.get(scope) ?? [])
  const apis = [
    ...apisInAudience(cx, audience)
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

function registrationOf(read: Pick<DecisionContext, "state">, appId: string) {
  const state = read.state(app, appId)
  return isMissing(state) ? undefined : state.registration
}

/** Represents the name and keys of an application that registered itself, on the consent page. */
export const shownIdentityOf = (read: Pick<DecisionContext, "state">, appId: string): string =>
  String(registrationOf(read, appId)?.identity ?? "")

/** Withdraws all consents of a user to an application, including those of unused codes. */
export function withdrawConsent(tx: Transaction, userId: string, appId: string, reason: string) {
  const removed: Draft<ConsentEvent> = {
    type: "application.consent.removed",
    data: { userId, appId, withdrawalId: tx.ids.next(), reason },
  }
  const id = consentsId(userId, appId)
  tx.append(applicationConsents, id, [removed], tx.owner(user, userId))
}

/** The last withdrawal by the user of a session, as stored with a completed request. */
export function lastWithdrawal(
  tx: Pick<DecisionContext, "state">,
  sessionId: string,
  appId: string,
): { readonly withdrawalId?: string } {
  const { userId } = tx.state(session, sessionId)
  const { withdrawalId } = tx.state(applicationConsents, consentsId(userId, appId))
  return withdrawalId === "" ? {} : { withdrawalId }
}

/** What a consent by the user of a session depends on until the request is completed. */
export function consentBasisOf(
  tx: Pick<DecisionContext, "state">,
  sessionId: string,
  appId: string,
) {
  const { withdrawalId = "" } = lastWithdrawal(tx, sessionId, appId)
  const identity = registrationOf(tx, appId)?.identity
  return { withdrawalId, ...(identity !== undefined && { identity }) }
}

/**
 * The session whose user consented to an open request; undefined if the user withdrew the consent
 * or the identity of the application changed since.
 */
export function findConsentSession(
  tx: Pick<DecisionContext, "state">,
  { asked: { appId }, consent, allowedWhen: basis = {} }: ConsentedRequest,
): string | undefined {
  if (consent === undefined) return undefined
  const now = consentBasisOf(tx, consent, appId)
  const isInvalid =
    (basis.withdrawalId !== undefined && basis.withdrawalId !== now.withdrawalId) ||
    (basis.identity !== undefined && basis.identity !== now.identity)
  return isInvalid ? undefined : consent
}

type ConsentedRequest = Pick<
  Extract<AuthRequestState, { status: "open" }>,
  "consent" | "allowedWhen"
> & {
  readonly asked: Pick<AuthorizationRequest, "appId">
}

/** Whether the user of a session withdrew consent after a request was completed. */
export function isWithdrawn(
  tx: Pick<DecisionContext, "state">,
  answered: { readonly sessionId: string; readonly withdrawalId?: string },
  appId: string,
): boolean {
  const { withdrawalId } = lastWithdrawal(tx, answered.sessionId, appId)
  return withdrawalId !== undefined && withdrawalId !== answered.withdrawalId
}

/** When a user last withdrew an application's access, ms UTC; 0 if never. */
export const withdrawnAt = (cx: Cx, userId: string, appId: string): number =>
  cx.store.state(cx, applicationConsents, consentsId(userId, appId)).withdrawn
