import { isInNetworks } from "../../domain/app-access/index.ts"
import { addAuthRequest, isRequestOver } from "../../domain/grant/index.ts"
import { Fault } from "../../kernel/fault.ts"
import {
  applicationName,
  loadBrowserContext,
  requirementsOf,
  type Step,
  showError,
  stepFor,
  stepPath,
} from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import {
  type UntrustedRedirect,
  type ValidatedRedirect,
  validateRedirect,
} from "../authorize/client.ts"
import { parseLanguages, withLanguages } from "../authorize/language.ts"
import {
  type EffectiveParameters,
  effectiveParametersOf,
} from "../authorize/request/effective-parameters.ts"
import { type ParsedRequest, parseRequest } from "../authorize/request/parse.ts"
import { validateRequestOrigin } from "../authorize/request/request-rules.ts"
import { respond } from "../authorize/respond.ts"
import { sendResponse } from "../authorize/response.ts"
import { isTester, showTestError } from "../authorize/sign-in-test.ts"
import { isSilent } from "../authorize/unapproved-redirect.ts"
import { findCustomLoginPage, newCustomLoginId } from "../custom-login/login-page.ts"
import { OAuthError, toOAuthError } from "../error.ts"
import { paths } from "../issuer.ts"
import { loadMetadataDocument } from "../registration/metadata-document.ts"
import { recordRejectedRequest } from "../rejected-request.ts"
import { redirect } from "../response.ts"
import type { Endpoint, EndpointContext } from "./endpoint.ts"

/** RFC 6749 §4.1.1 and §4.2.1, OpenID Connect Core §3.1.2 and §3.2.2. */
export const authorize: Endpoint = {
  methods: ["GET", "POST"],
  anyOrigin: false,
  handle: async (context) => {
    const { request, url } = context
    if (request.method === "POST") return redirectAsGet(await context.form())
    limitLength(url.search)
    await loadMetadataDocument(context.cx, url.searchParams.get("client_id") ?? "")
    const requested = await loadParameters(withUiLocales(context, url.searchParams))
    if (requested instanceof Response) return requested
    return handleRequest(withUiLocales(context, requested.search), requested)
  },
}

/** The same request with pages in the languages of ui_locales. */
const withUiLocales = (context: EndpointContext, search: URLSearchParams): EndpointContext => ({
  ...context,
  show: withLanguages(context.show, parseLanguages(search.get("ui_locales"))),
})

async function handleRequest(
  context: EndpointContext,
  requested: EffectiveParameters,
): Promise<Response> {
  const { cx, show, request, url } = context
  const { search, testedBy, pushed } = requested
  if (testedBy !== undefined && !isTester(await loadBrowserContext(cx, request), requested)) {
    return showError(show, cx, { problem: "other_tester" })
  }
  const found = validateRedirect(cx, search)
  if ("problem" in found) return showUntrusted(context, requested, found)
  const back = {
    ...found,
    ...(testedBy !== undefined && { testedBy }),
    ...(pushed && { pushed }),
  }
  try {
    const isPushed = !!url.searchParams.get("request_uri")
    const isSigned = isPushed || !!url.searchParams.get("request")
    validateRequestOrigin(back.app, { isPushed, isSigned })
    return await startSignIn(context, parseRequest(cx, back, search))
  } catch (cause) {
    // The same pushed request was just completed in another window.
    if (isRequestOver(cause)) return showError(show, cx, { problem: "expired" })
    // RFC 6749 §4.1.2.1: the client would not see a 500 or 503 in the user's browser.
    const fault = cause instanceof Fault && !cause.retryAfterSeconds ? toOAuthError(cause) : cause
    if (!(fault instanceof OAuthError)) throw fault
    await recordRejectedRequest(context, fault)
    return sendError(context, { back, prompt: search.get("prompt") }, fault)
  }
}

/** Nothing is sent to the client: the user sees the problem. */
async function showUntrusted(
  context: EndpointContext,
  { search, testedBy }: EffectiveParameters,
  redirect: UntrustedRedirect,
): Promise<Response> {
  const { cx, show } = context
  const { problem: error, detail: description = "", finding } = redirect
  await recordRejectedRequest(context, { error, description, finding })
  if (testedBy === undefined) return showError(show, cx, redirect)
  const clientId = search.get("client_id") ?? ""
  return showTestError(cx, show, { clientId, cookies: [], refusal: { error, description } })
}

/**
 * OpenID Connect Core §3.1.2.1 also requires POST. A cross-site form contains no cookie of ours
 * (SameSite=Lax), so the browser is redirected here with GET.
 */
function redirectAsGet(search: URLSearchParams): Response {
  const query = search.toString()
  limitLength(query)
  return redirect(`${paths.authorize}?${query}`)
}

/** Longer requests must be pushed, see `par.ts`; no redirect has to carry them back. */
function limitLength(query: string): void {
  if (query.length <= queryMax) return
  throw new OAuthError("invalid_request", "the request is too long")
}

const queryMax = 8192

/**
 * The effective parameters, or a response if none can be trusted. For an invalid request object,
 * the error is sent to the client if the parameters outside contain a valid redirect URI.
 */
async function loadParameters(context: EndpointContext): Promise<EffectiveParameters | Response> {
  const { cx, url, show } = context
  try {
    return await effectiveParametersOf(cx, url.searchParams)
  } catch (cause) {
    if (!(cause instanceof OAuthError)) throw cause
    await recordRejectedRequest(context, cause)
    const back = validateRedirect(cx, url.searchParams)
    const prompt = url.searchParams.get("prompt")
    if (!("problem" in back)) return sendError(context, { back, prompt }, cause)
    // A request_uri is used twice if the user reloads the page after the sign-in.
    const problem = cause.error === "invalid_request_uri" ? "expired" : "invalid_request"
    return showError(show, cx, { problem, detail: `${cause.description}.` })
  }
}

/**
 * Responds immediately if the browser's sessions are sufficient; otherwise the login pages
 * continue.
 */
async function startSignIn(context: EndpointContext, checked: ParsedRequest): Promise<Response> {
  const { cx, request, show } = context
  const browserContext = await loadBrowserContext(cx, request)
  const { asked, loginHint } = checked
  const page = asked.testedBy === undefined ? findCustomLoginPage(cx, asked) : undefined
  if (page !== undefined) {
    // Later requests come from the custom login page, so the browser's network can only be checked
    // now.
    return isInNetworks(cx, asked.appId)
      ? redirectToCustomLogin(cx, checked, page)
      : rejectNetwork(context, asked)
  }
  const beginning = { loginHint, created: cx.clock.now(), sessionId: "" }
  const requirements = requirementsOf(cx, asked, beginning)
  const step = stepFor(cx, { asked, requirements }, browserContext.present)
  const id = cx.ids.next()
  const cookies = [browserContext.browser.setCookie]
  const added = { ...checked, agentId: browserContext.browser.id }
  if (step.kind === "done") {
    const { sessionId } = step
    const store = (tx: Parameters<typeof addAuthRequest>[0]) => addAuthRequest(tx, id, added)
    return respond(cx, show, { ready: { id, asked, sessionId, store }, cookies })
  }
  if (asked.prompts.includes("none") || step.kind === "refuse") throw promptNoneError(step)
  cx.allowance?.spend("request")
  await cx.store.transactSoon(cx, (tx) => addAuthRequest(tx, id, added))
  return redirect(stepPath(step, id), ...cookies)
}

/** Rejects users in networks that the application does not allow, before they sign in. */
function rejectNetwork(
  { cx, show }: EndpointContext,
  { prompts }: ParsedRequest["asked"],
): Promise<Response> {
  if (prompts.includes("none")) {
    throw new OAuthError("access_denied", "the application can't be used from this network")
  }
  const reason = "error.not_allowed.network"
  return showError(show, cx, { problem: "not_allowed", status: 403, reason })
}

/** A custom login page continues; it manages its own sessions. */
async function redirectToCustomLogin(
  cx: Cx,
  checked: ParsedRequest,
  page: string,
): Promise<Response> {
  const id = newCustomLoginId(cx)
  cx.allowance?.spend("request")
  await cx.store.transact(cx, (tx) => addAuthRequest(tx, id, { ...checked, agentId: "" }))
  return redirect(`${page}/login?authRequest=${encodeURIComponent(id)}`)
}

async function sendError(
  { cx, show, request }: EndpointContext,
  { back, prompt }: { readonly back: ValidatedRedirect; readonly prompt: string | null },
  fault: OAuthError,
): Promise<Response> {
  // The response passes through the browser, so the request ID helps developers and us to find it.
  const error_description = `${fault.description} (request ${cx.requestId})`
  const fields = { error: fault.error, error_description }
  const application = applicationName(cx, back.clientId)
  const { present } = await loadBrowserContext(cx, request)
  const silent = { isSilent: isSilent(request, prompt) }
  return sendResponse(cx, show, {
    back,
    application,
    fields,
    here: present,
    ...silent,
    cookies: [],
  })
}

/** OpenID Connect Core §3.1.2.6: why prompt=none failed. */
function promptNoneError(step: Step): OAuthError {
  if (step.kind === "consent") {
    return new OAuthError("consent_required", "consent is required")
  }
  if (step.kind === "choose") {
    return new OAuthError(
      "account_selection_required",
      "several accounts are signed in; one must be selected",
    )
  }
  return step.kind === "barred"
    ? new OAuthError("access_denied", "the signed-in user can't use this application")
    : new OAuthError("login_required", "no signed-in user matches the request")
}
