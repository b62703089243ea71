import {
  type ApplicationReference,
  findClient,
  findReferencedApplication,
  isSelfRegistered,
  responseProblem,
} from "../domain/app/index.ts"
import {
  type Denial,
  findAppDenial,
  hasNetworks,
  isInNetworks,
  requirementsOfApp,
} from "../domain/app-access/index.ts"
import {
  type AuthorizationRequest,
  authRequest,
  type CustomLoginRequest,
  completeAuthRequest,
  findConsentingSession,
  findConsentSession,
  isConsentRemembered,
  isForCode,
  isPushedOver,
  requestLifetimes,
} from "../domain/grant/index.ts"
import type { BrowserState } from "../domain/session/index.ts"
import { findByLoginName } from "../domain/user-lookup/index.ts"
import { createReader, user } from "../domain/user-model/index.ts"
import type { Cx, Transaction } from "../store/index.ts"
import {
  type AccessBarrier,
  canNeedConsent,
  nextStep,
  type Policies,
  type PresentSession,
  type SignInRequest,
  type Step,
} from "./flow.ts"
import { requirementFor } from "./policy/factor-requirement.ts"
import { registrationOrgOf } from "./policy/registration.ts"

/** The parts of a browser that are needed to find its requests. */
export type RequestBrowser = {
  readonly browser: Pick<BrowserState, "id">
  /** The sessions in this browser, oldest sign-in first. */
  readonly present: readonly PresentSession[]
}

/** A sign-in request that is pending in this browser. */
export type PendingRequest = {
  readonly id: string
  readonly asked: AuthorizationRequest
  readonly loginHint: string
  readonly requirements: SignInRequest
}

/** The pending request with this ID. Undefined if it is over, or belongs to another browser. */
export function findPendingRequest(
  cx: Cx,
  browserContext: RequestBrowser,
  id: string,
): PendingRequest | undefined {
  const state = cx.store.state(cx, authRequest, id)
  if (state.status !== "open" || state.agentId !== browserContext.browser.id) return undefined
  if (cx.clock.now() >= state.created + requestLifetimes.request) return undefined
  const { asked, loginHint } = state
  return { id, asked, loginHint, requirements: requirementsOf(cx, asked, state) }
}

/** A request that was just completed; `sessionId` is the session that completed it. */
export type JustCompletedRequest = {
  readonly asked: AuthorizationRequest
  readonly agentId: string
  readonly sessionId: string
}

/**
 * The request with this ID, if a session of this browser completed it and the response was not used
 * yet: after a double click, the browser has lost the response and can receive another one.
 */
export function findJustCompleted(
  cx: Cx,
  browserContext: RequestBrowser,
  id: string,
): JustCompletedRequest | undefined {
  const state = cx.store.state(cx, authRequest, id)
  if (state.status !== "answered" || state.agentId !== browserContext.browser.id) return undefined
  const { asked, agentId, sessionId, codeAt } = state
  const isInBrowser = browserContext.present.some((each) => each.id === sessionId)
  if (!isInBrowser || cx.clock.now() >= codeAt + requestLifetimes.code) return undefined
  return { asked, agentId, sessionId }
}

type RequestState = Pick<SignInRequest, "created" | "sessionId" | "isDenied"> &
  Pick<CustomLoginRequest, "consent" | "allowedWhen"> & { readonly loginHint: string }

/** The requirements of a request, for the flow. */
export function requirementsOf(
  cx: Cx,
  request: AuthorizationRequest,
  rest: RequestState,
): SignInRequest {
  const { loginHint, created, sessionId, isDenied = false, ...given } = rest
  const consent = findConsentSession(createReader(cx), { ...given, asked: request })
  // Unknown names suggest no user, like those of users of other organizations.
  const suggestedUser = loginHint === "" ? undefined : (findByLoginName(cx, loginHint) ?? "")
  const isUnvouched = isSelfRegistered(cx, request.appId)
  const requestFacts = { suggestedUser, isUnvouched, created, sessionId, consent, isDenied }
  const maxAge = smallerOf(request.maxAge, requirementsOfApp(cx, request.appId).maxAge)
  return {
    ...request,
    ...requestFacts,
    needsPassword: request.saml?.needsPassword,
    ...(maxAge !== undefined && { maxAge }),
  }
}

/** The smaller of two limits; either can be absent. */
const smallerOf = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)

/**
 * The policies for a request and for the users of sessions. `caller` sends the request: the
 * browser, or a custom login page, whose requests reveal nothing about the user's browser.
 */
export function policiesFor(
  cx: Cx,
  { asked, requirements }: Pick<PendingRequest, "asked" | "requirements">,
  sessions: readonly PresentSession[],
  caller: "browser" | "login page" = "browser",
): Policies {
  const isFactorRequired =
    asked.needsFactor === true || requirementsOfApp(cx, asked.appId).secondFactor
  const canBeRemembered = canNeedConsent(requirements)
  const policyOf = (session: PresentSession) => {
    const { userId } = session
    const need = requirementFor(cx, session)
    const isForced = need.isForced || isFactorRequired
    return {
      bar: findAccessBarrier(cx, asked, userId) ?? findNetworkBarrier(cx, asked, caller),
      need: { ...need, isForced, isLocalOnly: need.isLocalOnly && !isFactorRequired },
      isConsentRemembered: canBeRemembered && isConsentRemembered(cx, asked, userId),
    }
  }
  return {
    mayRegister: registrationOrgOf(cx, asked.home) !== undefined,
    sessions: new Map(sessions.map((session) => [session.id, policyOf(session)])),
  }
}

/** The next step of a request, under the current policies. */
export const stepFor = (
  cx: Cx,
  waiting: Pick<PendingRequest, "asked" | "requirements">,
  sessions: readonly PresentSession[],
  now = cx.clock.now(),
): Step => nextStep(waiting.requirements, sessions, policiesFor(cx, waiting, sessions), now)

/**
 * Completes a request within the sign-in transaction if nothing else is required; returns whether
 * it did. SAML responses are signed off the event loop, which no transaction waits for, so the SAML
 * endpoint completes them.
 */
export function completeWithin(
  cx: Cx,
  tx: Transaction,
  { id, asked, requirements }: PendingRequest,
  session: PresentSession,
): boolean {
  if (asked.saml || !isForCode(asked) || asked.testedBy !== undefined) return false
  if (responseProblem(cx, asked)) return false
  const linked = { ...requirements, sessionId: session.id }
  const step = stepFor(cx, { asked, requirements: linked }, [session], tx.now)
  if (step.kind !== "done") return false
  // Completed concurrently in another window: the endpoint shows that to the user.
  if (isPushedOver(tx, asked)) return false
  if (!findConsentingSession(cx, tx, { id, asked, sessionId: session.id })) return false
  completeAuthRequest(tx, id, session.id)
  return true
}

/** Why a user can't use the application; undefined if they can. */
function findAccessBarrier(
  cx: Cx,
  request: AuthorizationRequest,
  userId: string,
): AccessBarrier | undefined {
  const { home } = request
  if (home !== undefined && home !== cx.store.receipt(cx, user, userId)?.owner) {
    return "organisation"
  }
  const denial = findAppDenial(cx, userId, request.appId)
  return denial && barriersByDenial[denial]
}

/**
 * Only requests from the browser reveal its network. Behind a custom login page, other sign-ins
 * were checked when the page was opened, but those of devices never are.
 */
function findNetworkBarrier(
  cx: Cx,
  { appId, device }: AuthorizationRequest,
  caller: "browser" | "login page",
): AccessBarrier | undefined {
  const isAllowed =
    caller === "browser" ? isInNetworks(cx, appId) : !device || !hasNetworks(cx, appId)
  return isAllowed ? undefined : "network"
}

const barriersByDenial: Readonly<Record<Denial, AccessBarrier>> = {
  "no project": "project",
  "no roles": "roles",
  "not assigned": "assigned",
  "no role": "role",
}

/** The display name of an application; empty if it was removed. */
export const applicationName = (cx: Cx, clientId: string): string =>
  findClient(cx, clientId)?.state.name ?? ""

/** The name of the application of a request, an OAuth client or not. */
export const requestedName = (cx: Cx, reference: ApplicationReference): string =>
  findReferencedApplication(cx, reference)?.name ?? ""
