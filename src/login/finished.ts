import { findReferencedApplication, isSelfRegistered } from "../domain/app/index.ts"
import { type AuthRequestState, authRequest, type FinishedRequest } from "../domain/grant/index.ts"
import { hasCookie } from "../domain/session/index.ts"
import { isOnDevice } from "../protocol/redirect-uri.ts"
import type { Cx } from "../store/index.ts"
import { brandingOrgOf } from "./appearance/private-labeling.ts"
import type { PageContext } from "./context.ts"
import { redirectTo } from "./form.ts"
import { showError } from "./page.ts"
import { continuePath } from "./path.ts"
import { findJustCompleted, requestedName } from "./request.ts"
import type { BrowserContext } from "./session.ts"

/**
 * The completed or failed request with this ID, if it belongs to this browser; undefined otherwise.
 */
export function findFinishedRequest(
  cx: Cx,
  { browser }: BrowserContext,
  { id, formOf }: PostedRequest,
): FinishedRequest | undefined {
  const finished = finishedRequestOf(cx.store.state(cx, authRequest, id))
  // A browser that lost its sign-in cookie receives no new information here.
  const isOwn = finished && [browser.id, browser.previous?.id, formOf].includes(finished.agentId)
  return isOwn ? finished : undefined
}

type PostedRequest = {
  readonly id: string
  /** The browser that a posted form was created for; see `findBrowserOfForm`. */
  readonly formOf?: string | undefined
}

function finishedRequestOf(state: AuthRequestState): FinishedRequest | undefined {
  if (state.status === "answered") return { ...state.asked, agentId: state.agentId }
  if (state.status === "exchanged" || state.status === "failed") return state.finished
  return undefined
}

/**
 * Shows that a sign-in is finished and offers to continue to the application, for users who
 * navigated back in their browser. Undefined if the request is not finished, or belongs to another
 * browser.
 */
export function showFinished(
  { cx, show, browserContext }: FinishedContext,
  { mayContinue = false, ...posted }: FinishedOptions,
): Promise<Response> | undefined {
  const { id } = posted
  const finished = findFinishedRequest(cx, browserContext, posted)
  if (!finished) return undefined
  // A response that was not used yet is sent again if the user requests it.
  const answered = mayContinue ? findJustCompleted(cx, browserContext, id) : undefined
  const href = answered ? continuePath({ id, asked: answered.asked }) : startPageOf(cx, finished)
  const application = requestedName(cx, finished)
  return show(
    cx,
    (ui, shared) => ui.ContinuePage({ ...shared, application, href, reason: "finished" }),
    {
      languages: finished.languages,
      orgId: brandingOrgOf(cx, finished),
      cookies: [browserContext.browser.setCookie],
    },
  )
}

type FinishedContext = Pick<PageContext, "cx" | "show" | "browserContext">

type FinishedOptions = PostedRequest & {
  /** Whether an unused response can be sent again. */
  readonly mayContinue?: boolean
}

/**
 * The start page of an application. Native applications have none. Applications that registered
 * themselves are not linked without a sign-in (RFC 9700 §4.11.2).
 */
function startPageOf(cx: Cx, finished: FinishedRequest): string | undefined {
  const { appId, redirectUri } = finished
  if (!/^https?:/.test(redirectUri) || isSelfRegistered(cx, appId)) return undefined
  const application = findReferencedApplication(cx, finished)
  const isNative = application?.kind === "oidc" && application.oidc.appType === "native"
  return isNative && isOnDevice(redirectUri) ? undefined : `${new URL(redirectUri).origin}/`
}

/** The context of a finished request. */
export type FinishContext = Pick<PageContext, "cx" | "show" | "browserContext" | "request">

/** GET of a page whose request is not pending in this browser: explains why. */
export function showFinishedReason(
  context: FinishContext,
  id: string,
): Promise<Response> | Response {
  const { cx, show, browserContext, request } = context
  const { browser, header } = browserContext
  const finished = showFinished({ cx, show, browserContext }, { id })
  if (finished !== undefined) return finished
  if (hasCookie(header))
    return showError(show, cx, { problem: "expired", cookies: [browser.setCookie] })
  // Sets a cookie and reloads the page: if the reload has no cookie, cookies are blocked.
  const { pathname, search } = new URL(request.url)
  const marked = `${pathname}${search}${search === "" ? "?" : "&"}${cookieSentParameter}`
  return showNoCookies(context) ?? redirectTo(marked, browser.setCookie)
}

/** GET of a page that just set a cookie: shows that cookies are blocked, if they are. */
export function showNoCookies(context: FinishContext): Promise<Response> | undefined {
  const { cx, show, browserContext, request } = context
  const { pathname, searchParams } = new URL(request.url)
  if (hasCookie(browserContext.header) || !searchParams.has(cookieSentParameter)) return undefined
  searchParams.delete(cookieSentParameter)
  const startHref = searchParams.size > 0 ? `${pathname}?${searchParams}` : pathname
  const cookies = [browserContext.browser.setCookie]
  return showError(show, cx, { problem: "no_cookies", startHref, cookies })
}

/** Explains why a form that is not from a page of this browser is rejected; `href` is its page. */
export function showForeignForm(context: FinishContext, href: string): Promise<Response> {
  const { cx, show, browserContext } = context
  const cookies = [browserContext.browser.setCookie]
  const refusal = { status: 403, cookies }
  if (hasCookie(browserContext.header))
    return showError(show, cx, { problem: "other_browser", ...refusal })
  return showError(show, cx, { problem: "no_cookies", startHref: href, ...refusal })
}

/** Marks the URL of a page that the browser reloads to test its cookie. */
const cookieSentParameter = "cookie-sent"
