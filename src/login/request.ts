import {
  type AskedFor,
  addressProblem,
  applicationAskedFor,
  findClient,
  isSelfRegistered,
} from "../domain/app/index.ts"
import {
  appDenial,
  type Denial,
  hasNetworks,
  isInNetworks,
  requirementsOfApp,
} from "../domain/app-access/index.ts"
import {
  allowedSession,
  answerRequest,
  authRequest,
  consentTo,
  type HandedRequest,
  isConsentRemembered,
  isForCode,
  isPushedOver,
  type Requested,
  requestLifetimes,
} from "../domain/grant/index.ts"
import type { KnownBrowser } from "../domain/session/index.ts"
import { findByLoginName } from "../domain/user-lookup/index.ts"
import { readerOf, user } from "../domain/user-model/index.ts"
import type { Cx, Transaction } from "../store/index.ts"
import {
  type AuthorizationRequest,
  type Bar,
  mayNeedConsent,
  nextStep,
  type Policies,
  type Present,
  type Step,
} from "./flow.ts"
import { needFor } from "./policy/need.ts"
import { registrationHome } from "./policy/registration.ts"

/** What must be known of a browser to find its requests. */
export type RequestBrowser = {
  readonly browser: Pick<KnownBrowser, "id">
  /** Who is signed in here, oldest sign-in first. */
  readonly present: readonly Present[]
}

/** A request to sign somebody in that still waits in this browser. */
export type Waiting = {
  readonly id: string
  readonly asked: Requested
  readonly loginHint: string
  readonly requirements: AuthorizationRequest
}

/** The open request with this id. Undefined for one that is over, or another browser's. */
export function waitingRequest(
  cx: Cx,
  browserContext: RequestBrowser,
  id: string,
): Waiting | undefined {
  const state = cx.store.state(cx, authRequest, id)
  if (state.status !== "open" || state.agentId !== browserContext.browser.id) return undefined
  if (cx.clock.now() >= state.created + requestLifetimes.request) return undefined
  const { asked, loginHint } = state
  return { id, asked, loginHint, requirements: requirementsOf(cx, asked, state) }
}

/** A request that was answered a moment ago; `sessionId` is whose it was. */
export type JustAnswered = {
  readonly asked: Requested
  readonly agentId: string
  readonly sessionId: string
}

/**
 * The request of this id where a session of this very browser has answered it, and the answer has
 * not been used yet: a browser in which a form was posted twice has lost it, and may have another.
 */
export function justAnswered(
  cx: Cx,
  browserContext: RequestBrowser,
  id: string,
): JustAnswered | undefined {
  const state = cx.store.state(cx, authRequest, id)
  if (state.status !== "answered" || state.agentId !== browserContext.browser.id) return undefined
  const { asked, agentId, sessionId, codeAt } = state
  const isHere = browserContext.present.some((each) => each.id === sessionId)
  if (!isHere || cx.clock.now() >= codeAt + requestLifetimes.code) return undefined
  return { asked, agentId, sessionId }
}

type Rest = Pick<AuthorizationRequest, "created" | "sessionId" | "isDenied"> &
  Pick<HandedRequest, "consent" | "allowedWhen"> & { readonly loginHint: string }

/** What the flow must know of a request. */
export function requirementsOf(cx: Cx, asked: Requested, rest: Rest): AuthorizationRequest {
  const { loginHint, created, sessionId, isDenied = false, ...given } = rest
  const consent = consentTo(readerOf(cx), { ...given, asked })
  // A name that is nobody's suggests nobody here, like that of somebody who is elsewhere.
  const suggestedUser = loginHint === "" ? undefined : (findByLoginName(cx, loginHint) ?? "")
  const isUnvouched = isSelfRegistered(cx, asked.appId)
  const known = { suggestedUser, isUnvouched, created, sessionId, consent, isDenied }
  const maxAge = least(asked.maxAge, requirementsOfApp(cx, asked.appId).maxAge)
  return {
    ...asked,
    ...known,
    needsPassword: asked.saml?.needsPassword,
    ...(maxAge !== undefined && { maxAge }),
  }
}

/** The smaller of two limits, of which each can be absent. */
const least = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)

/**
 * What applies to a request, and to the people of sessions; `caller` is who sends this request: the
 * browser, or a login page of somebody else, of whose browser nothing is known here.
 */
export function policiesFor(
  cx: Cx,
  { asked, requirements }: Pick<Waiting, "asked" | "requirements">,
  sessions: readonly Present[],
  caller: "browser" | "login page" = "browser",
): Policies {
  const isAsked = asked.needsFactor === true || requirementsOfApp(cx, asked.appId).secondFactor
  const mayBeRemembered = mayNeedConsent(requirements)
  const policyOf = (session: Present) => {
    const { userId } = session
    const need = needFor(cx, session)
    const isForced = need.isForced || isAsked
    return {
      bar: barAgainst(cx, asked, userId) ?? networkBar(cx, asked, caller),
      need: { ...need, isForced, isLocalOnly: need.isLocalOnly && !isAsked },
      isConsentRemembered: mayBeRemembered && isConsentRemembered(cx, asked, userId),
    }
  }
  return {
    mayRegister: registrationHome(cx, asked.home) !== undefined,
    sessions: new Map(sessions.map((session) => [session.id, policyOf(session)])),
  }
}

/** What must happen next for a request, by the policies that apply now. */
export const stepFor = (
  cx: Cx,
  waiting: Pick<Waiting, "asked" | "requirements">,
  sessions: readonly Present[],
  now = cx.clock.now(),
): Step => nextStep(waiting.requirements, sessions, policiesFor(cx, waiting, sessions), now)

/**
 * Answers a request within the step that signs in, if nothing else is left to do; returns whether
 * it did. A response of SAML is signed off the event loop, which no step waits for: its endpoint
 * answers.
 */
export function answerWithin(
  cx: Cx,
  tx: Transaction,
  { id, asked, requirements }: Waiting,
  session: Present,
): boolean {
  if (asked.saml || !isForCode(asked) || asked.testedBy !== undefined) return false
  if (addressProblem(cx, asked)) return false
  const linked = { ...requirements, sessionId: session.id }
  const step = stepFor(cx, { asked, requirements: linked }, [session], tx.now)
  if (step.kind !== "done") return false
  // Answered meanwhile, in another window: the endpoint tells the person.
  if (isPushedOver(tx, asked)) return false
  if (!allowedSession(cx, tx, { id, asked, sessionId: session.id })) return false
  answerRequest(tx, id, session.id)
  return true
}

/** Why a person may not use the application that asks; undefined for who may. */
function barAgainst(cx: Cx, asked: Requested, userId: string): Bar | undefined {
  const { home } = asked
  if (home !== undefined && home !== cx.store.receipt(cx, user, userId)?.owner) {
    return "organisation"
  }
  const denial = appDenial(cx, userId, asked.appId)
  return denial && bars[denial]
}

/** Only a request of the browser shows where that is; a device's is never seen at another page. */
function networkBar(
  cx: Cx,
  { appId, device }: Requested,
  caller: "browser" | "login page",
): Bar | undefined {
  const isKnown =
    caller === "browser" ? isInNetworks(cx, appId) : !device || !hasNetworks(cx, appId)
  return isKnown ? undefined : "network"
}

const bars: Readonly<Record<Denial, Bar>> = {
  "no project": "project",
  "no roles": "roles",
  "not assigned": "assigned",
  "no role": "role",
}

/** Name of an application as people know it; empty where it is gone. */
export const applicationName = (cx: Cx, clientId: string): string =>
  findClient(cx, clientId)?.state.name ?? ""

/** The same of what a request is for, be it a client or not. */
export const askedName = (cx: Cx, asked: AskedFor): string =>
  applicationAskedFor(cx, asked)?.name ?? ""
