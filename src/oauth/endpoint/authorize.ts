import { isInNetworks } from "../../domain/app-access/index.ts"
import { addAuthRequest, isRequestOver } from "../../domain/grant/index.ts"
import { Fault } from "../../kernel/fault.ts"
import {
  applicationName,
  browserContextOf,
  requirementsOf,
  type Step,
  showTrouble,
  stepFor,
  stepPath,
} from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { answerClient } from "../authorize/answer.ts"
import { type ReturnPath, returnPathOf, type Untrusted } from "../authorize/client.ts"
import { inLanguages, languagesOf } from "../authorize/language.ts"
import { type Checked, parseRequest } from "../authorize/request/parse.ts"
import { checkWay } from "../authorize/request/request-rules.ts"
import { type Requested, requestedBy } from "../authorize/request/requested.ts"
import { respond } from "../authorize/respond.ts"
import { isSilent } from "../authorize/stranger.ts"
import { isTester, showTestRefused } from "../authorize/tested.ts"
import { errorOf, OAuthError } from "../error.ts"
import { handedId, loginPageOf } from "../handed/login-page.ts"
import { paths } from "../issuer.ts"
import { recordRefusal } from "../refusal.ts"
import { knowDocument } from "../registration/document.ts"
import { redirect } from "../response.ts"
import type { Asking, Endpoint } from "./endpoint.ts"

/** RFC 6749 §4.1.1 and §4.2.1, OpenID Connect Core §3.1.2 and §3.2.2. */
export const authorize: Endpoint = {
  methods: ["GET", "POST"],
  anyOrigin: false,
  answer: async (asking) => {
    const { request, url } = asking
    if (request.method === "POST") return asGet(await asking.form())
    mustBeShort(url.search)
    await knowDocument(asking.cx, url.searchParams.get("client_id") ?? "")
    const requested = await requestOf(spokenTo(asking, url.searchParams))
    if (requested instanceof Response) return requested
    return answerTo(spokenTo(asking, requested.search), requested)
  },
}

/** The same request; its person reads what ui_locales says. */
const spokenTo = (asking: Asking, search: URLSearchParams): Asking => ({
  ...asking,
  show: inLanguages(asking.show, languagesOf(search.get("ui_locales"))),
})

async function answerTo(asking: Asking, requested: Requested): Promise<Response> {
  const { cx, show, request, url } = asking
  const { search, testedBy, pushed } = requested
  if (testedBy !== undefined && !isTester(await browserContextOf(cx, request), requested)) {
    return showTrouble(show, cx, { problem: "other_tester" })
  }
  const found = returnPathOf(cx, search)
  if ("problem" in found) return untrusted(asking, requested, found)
  const back = {
    ...found,
    ...(testedBy !== undefined && { testedBy }),
    ...(pushed && { pushed }),
  }
  try {
    const isPushed = !!url.searchParams.get("request_uri")
    const isSigned = isPushed || !!url.searchParams.get("request")
    checkWay(back.app, { isPushed, isSigned })
    return await begin(asking, parseRequest(cx, back, search))
  } catch (cause) {
    // The same pushed request was answered a moment ago, in another window.
    if (isRequestOver(cause)) return showTrouble(show, cx, { problem: "expired" })
    // RFC 6749 §4.1.2.1: no client would see a 500 or 503 in its person's browser.
    const fault = cause instanceof Fault && !cause.retryAfterSeconds ? errorOf(cause) : cause
    if (!(fault instanceof OAuthError)) throw fault
    await recordRefusal(asking, fault)
    return sendError(asking, { back, prompt: search.get("prompt") }, fault)
  }
}

/** Nothing goes anywhere: what is wrong is told to the person. */
async function untrusted(
  asking: Asking,
  { search, testedBy }: Requested,
  found: Untrusted,
): Promise<Response> {
  const { cx, show } = asking
  const { problem: error, detail: description = "", finding } = found
  await recordRefusal(asking, { error, description, finding })
  if (testedBy === undefined) return showTrouble(show, cx, found)
  const clientId = search.get("client_id") ?? ""
  return showTestRefused(cx, show, { clientId, cookies: [], refusal: { error, description } })
}

/**
 * OpenID Connect Core §3.1.2.1 wants POST too. A form from another site comes without our cookie
 * (SameSite=Lax), so the browser is sent here again with GET, which brings it.
 */
function asGet(search: URLSearchParams): Response {
  const query = search.toString()
  mustBeShort(query)
  return redirect(`${paths.authorize}?${query}`)
}

/** What is longer is pushed, see `par.ts`; nothing is sent anywhere that has to carry it back. */
function mustBeShort(query: string): void {
  if (query.length <= queryMax) return
  throw new OAuthError("invalid_request", "the request is too long")
}

const queryMax = 8192

/**
 * The parameters that count; or what to answer where none can be trusted. A bad request object is
 * told to the client if what stands beside it says where that is.
 */
async function requestOf(asking: Asking): Promise<Requested | Response> {
  const { cx, url, show } = asking
  try {
    return await requestedBy(cx, url.searchParams)
  } catch (cause) {
    if (!(cause instanceof OAuthError)) throw cause
    await recordRefusal(asking, cause)
    const back = returnPathOf(cx, url.searchParams)
    const prompt = url.searchParams.get("prompt")
    if (!("problem" in back)) return sendError(asking, { back, prompt }, cause)
    // A page that is loaded again after the sign-in is what makes a request_uri come twice.
    const problem = cause.error === "invalid_request_uri" ? "expired" : "invalid_request"
    return showTrouble(show, cx, { problem, detail: `${cause.description}.` })
  }
}

/** Answers at once where the browser's sessions suffice; else the login pages take over. */
async function begin(asking: Asking, checked: Checked): Promise<Response> {
  const { cx, request, show } = asking
  const browserContext = await browserContextOf(cx, request)
  const { asked, loginHint } = checked
  const page = asked.testedBy === undefined ? loginPageOf(cx, asked) : undefined
  if (page !== undefined) {
    // The other page's requests come from elsewhere: where the browser is can only be seen now.
    return isInNetworks(cx, asked.appId) ? handOver(cx, checked, page) : otherNetwork(asking, asked)
  }
  const beginning = { loginHint, created: cx.clock.now(), sessionId: "" }
  const requirements = requirementsOf(cx, asked, beginning)
  const step = stepFor(cx, { asked, requirements }, browserContext.present)
  const id = cx.ids.next()
  const cookies = [browserContext.browser.setCookie]
  const added = { ...checked, agentId: browserContext.browser.id }
  if (step.kind === "done") {
    const { sessionId } = step
    const keep = (tx: Parameters<typeof addAuthRequest>[0]) => addAuthRequest(tx, id, added)
    return respond(cx, show, { ready: { id, asked, sessionId, keep }, cookies })
  }
  if (asked.prompts.includes("none") || step.kind === "refuse") throw silentError(step)
  cx.allowance?.spend("request")
  await cx.store.transactSoon(cx, (tx) => addAuthRequest(tx, id, added))
  return redirect(stepPath(step, id), ...cookies)
}

/** Users in other networks than the application allows are told so, before they sign in. */
function otherNetwork({ cx, show }: Asking, { prompts }: Checked["asked"]): Promise<Response> {
  if (prompts.includes("none")) {
    throw new OAuthError("access_denied", "the application can't be used from this network")
  }
  const reason = "error.not_allowed.network"
  return showTrouble(show, cx, { problem: "not_allowed", status: 403, reason })
}

/** A login page of somebody else goes on; it keeps who is signed in there. */
async function handOver(cx: Cx, checked: Checked, page: string): Promise<Response> {
  const id = handedId(cx)
  cx.allowance?.spend("request")
  await cx.store.transact(cx, (tx) => addAuthRequest(tx, id, { ...checked, agentId: "" }))
  return redirect(`${page}/login?authRequest=${encodeURIComponent(id)}`)
}

async function sendError(
  { cx, show, request }: Asking,
  { back, prompt }: { readonly back: ReturnPath; readonly prompt: string | null },
  fault: OAuthError,
): Promise<Response> {
  // Its answer goes through the browser: the id tells the developer what to ask us for.
  const error_description = `${fault.description} (request ${cx.requestId})`
  const fields = { error: fault.error, error_description }
  const application = applicationName(cx, back.clientId)
  const { present: here } = await browserContextOf(cx, request)
  const silent = { isSilent: isSilent(request, prompt) }
  return answerClient(cx, show, { back, application, fields, here, ...silent, cookies: [] })
}

/** OpenID Connect Core §3.1.2.6: why prompt=none could not be served. */
function silentError(step: Step): OAuthError {
  if (step.kind === "consent") {
    return new OAuthError("consent_required", "the person must be asked for this")
  }
  if (step.kind === "choose") {
    return new OAuthError("account_selection_required", "several accounts are signed in")
  }
  return step.kind === "barred"
    ? new OAuthError("access_denied", "the person who is signed in may not use this application")
    : new OAuthError("login_required", "nobody is signed in who fits the request")
}
