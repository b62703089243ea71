import type { RegisteredServiceProvider } from "../../domain/app/index.ts"
import { isInNetworks } from "../../domain/app-access/index.ts"
import { type AuthorizationRequest, addAuthRequest, type Prompt } from "../../domain/grant/index.ts"
import {
  brandingOrgOf,
  loadBrowserContext,
  requestedName,
  requirementsOf,
  type ShowPage,
  type Step,
  showError,
  stepFor,
  stepPath,
} from "../../login/index.ts"
import { findCustomLoginPage, isTester, newCustomLoginId, redirect } from "../../oauth/index.ts"
import type { Cx } from "../../store/index.ts"
import { parsePost, parseRedirect } from "../../xml/binding.ts"
import { rejectedError } from "../error.ts"
import { paths } from "../path.ts"
import { checkForApplication, recordStatus } from "../rejected-request.ts"
import {
  authorizationRequestOf,
  checkRequest,
  defaultFormatOf,
  type ErrorResponse,
  relayStateMax,
} from "../request/authn-request.ts"
import { openMessage } from "../request/receive.ts"
import { findUsableProvider, responseTargetOf } from "../request/response-target.ts"
import { takeTest } from "../request/sign-in-test.ts"
import { respond } from "../response/respond.ts"
import { errorResponseOf, send } from "../response/send.ts"
import type { Endpoint, EndpointContext } from "./endpoint.ts"
import { parseForm } from "./form.ts"
import { openRequest, sealRequest } from "./sealed-request.ts"

/** SAML Profiles §4.1: signs in a user to a service provider. */
export const sso: Endpoint = {
  methods: ["GET", "POST"],
  handle: async (context) => {
    const { cx, request, url, show } = context
    if (request.method === "POST")
      return handleAuthnRequest(context, parsePost(await parseForm(request), rejectedError))
    const carried = url.searchParams.get("carried")
    if (carried !== null) {
      const authorizationRequest = openRequest(cx, carried)
      return authorizationRequest
        ? startSignIn(context, authorizationRequest)
        : showError(show, cx, { problem: "expired" })
    }
    if (url.searchParams.has("request_uri")) return handleTest(context)
    if (url.searchParams.has("providerId")) return handleIdpInitiated(context)
    limitLength(url.search)
    return handleAuthnRequest(context, parseRedirect(url.search, rejectedError))
  },
}

const queryMax = 16_384

function limitLength(search: string): void {
  if (search.length > queryMax)
    throw rejectedError("the URL is too long; use the HTTP-POST binding")
}

async function handleAuthnRequest(
  context: EndpointContext,
  received: ReturnType<typeof parsePost>,
): Promise<Response> {
  const { cx, request, show } = context
  if (received?.kind !== "SAMLRequest") throw rejectedError("SAMLRequest is required")
  const message = await openMessage(cx, received, "AuthnRequest")
  if (!message) return showError(show, cx, { problem: "unknown_application" })
  const check = () => checkRequest(cx, message, received.relayState)
  const checked = await checkForApplication(message.found, check)
  if ("error" in checked) return respondWithError(context, checked.error)
  // A cross-site form contains no cookie of ours (SameSite=Lax); a GET request does.
  if (request.method === "POST") {
    return redirect(
      `${paths.sso}?carried=${encodeURIComponent(sealRequest(cx, checked.authorizationRequest))}`,
    )
  }
  return startSignIn(context, checked.authorizationRequest)
}

/**
 * SAML Profiles §4.1.5: a sign-in that the identity provider initiates; the URL contains the
 * service provider.
 */
async function handleIdpInitiated(context: EndpointContext): Promise<Response> {
  const { cx, url, show } = context
  const found = await findUsableProvider(cx, url.searchParams.get("providerId") ?? "")
  if (!found) return showError(show, cx, { problem: "unknown_application" })
  const relayState = (url.searchParams.get("target") ?? "").slice(0, relayStateMax)
  return startSignIn(context, createRequest(found, { relayState, prompts: [] }))
}

/** The same for a test, which ends on our own page and sends nothing. */
async function handleTest(context: EndpointContext): Promise<Response> {
  const { cx, request, show, url } = context
  const found = await findUsableProvider(cx, url.searchParams.get("providerId") ?? "")
  if (!found) return showError(show, cx, { problem: "unknown_application" })
  const test = await takeTest(cx, url.searchParams.get("request_uri") ?? "", found.appId)
  if (!test) return showError(show, cx, { problem: "expired" })
  const { testedBy, prompts } = test
  if (!isTester(await loadBrowserContext(cx, request), test)) {
    return showError(show, cx, { problem: "other_tester" })
  }
  return startSignIn(context, { ...createRequest(found, { relayState: "", prompts }), testedBy })
}

type InitiatedRequest = { readonly relayState: string; readonly prompts: readonly Prompt[] }

function createRequest(
  serviceProvider: RegisteredServiceProvider,
  { relayState, prompts }: InitiatedRequest,
): AuthorizationRequest {
  const { appId, provider } = serviceProvider
  const [consumer] = provider.consumers
  if (!consumer) throw rejectedError("the registered metadata has no AssertionConsumerService")
  const back = {
    appId,
    entityId: provider.entityId,
    relayState,
    url: consumer.url,
    binding: consumer.binding,
  }
  return authorizationRequestOf({ back, nameIdFormat: defaultFormatOf(provider), prompts })
}

/**
 * Responds immediately if the browser's sessions are sufficient; otherwise the login pages
 * continue.
 */
async function startSignIn(
  context: EndpointContext,
  authorizationRequest: AuthorizationRequest,
): Promise<Response> {
  const { cx, request } = context
  const show = showPageFor(context.show, authorizationRequest)
  const page =
    authorizationRequest.testedBy === undefined
      ? findCustomLoginPage(cx, authorizationRequest)
      : undefined
  if (page !== undefined) {
    if (isInNetworks(cx, authorizationRequest.appId))
      return redirectToCustomLogin(cx, authorizationRequest, page)
    // Later requests come from the custom login page, so the browser's network can only be checked
    // now.
    if (authorizationRequest.prompts.includes("none")) {
      return respondWithError(context, {
        back: responseTargetOf(authorizationRequest),
        ...networkError,
      })
    }
    const reason = "error.not_allowed.network"
    return showError(show, cx, { problem: "not_allowed", status: 403, reason })
  }
  const browserContext = await loadBrowserContext(cx, request)
  const { present, browser } = browserContext
  const beginning = { loginHint: "", created: cx.clock.now(), sessionId: "" }
  const requirements = requirementsOf(cx, authorizationRequest, beginning)
  const step = stepFor(cx, { asked: authorizationRequest, requirements }, present)
  const cookies = [browser.setCookie]
  const application = requestedName(cx, authorizationRequest)
  if (step.kind === "done") {
    const ready = { asked: authorizationRequest, sessionId: step.sessionId }
    return respond(cx, { show, application, cookies }, ready)
  }
  if (authorizationRequest.prompts.includes("none") || step.kind === "refuse") {
    return respondWithError(context, {
      back: responseTargetOf(authorizationRequest),
      ...passiveError(step),
    })
  }
  const id = cx.ids.next()
  cx.allowance?.spend("request")
  await cx.store.transactSoon(cx, (tx) =>
    addAuthRequest(tx, id, { asked: authorizationRequest, agentId: browser.id, loginHint: "" }),
  )
  return redirect(stepPath(step, id), ...cookies)
}

/** A custom login page continues; it manages its own sessions. */
async function redirectToCustomLogin(
  cx: Cx,
  authorizationRequest: AuthorizationRequest,
  page: string,
): Promise<Response> {
  const id = newCustomLoginId(cx)
  cx.allowance?.spend("request")
  await cx.store.transact(cx, (tx) =>
    addAuthRequest(tx, id, { asked: authorizationRequest, agentId: "", loginHint: "" }),
  )
  return redirect(`${page}/login?samlRequest=${encodeURIComponent(id)}`)
}

/** SAML Core §3.4.1, IsPassive: why a passive sign-in failed. */
const passiveError = (step: Step): Pick<ErrorResponse, "status" | "message"> =>
  step.kind === "barred"
    ? { status: "requestDenied", message: "the signed-in user can't use this application" }
    : { status: "noPassive", message: "no signed-in user matches the request" }

const networkError = {
  status: "requestDenied",
  message: "the application can't be used from this network",
} as const satisfies Pick<ErrorResponse, "status" | "message">

function respondWithError(
  context: EndpointContext,
  { back, status, message }: ErrorResponse,
): Promise<Response> {
  const { cx, show } = context
  const { appId, entityId } = back
  recordStatus(context, { appId, entityId, status, why: message })
  const application = requestedName(cx, { clientId: "", appId: back.appId })
  return send(cx, errorResponseOf(cx, back, status, message), { show, application, cookies: [] })
}

/** Renders pages of a request with its branding. */
export const showPageFor =
  (show: ShowPage, authorizationRequest: AuthorizationRequest): ShowPage =>
  (cx, render, options) =>
    show(cx, render, { orgId: brandingOrgOf(cx, authorizationRequest), ...options })
