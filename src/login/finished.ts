import { applicationAskedFor, isSelfRegistered } from "../domain/app/index.ts"
import { type AuthRequest, authRequest, type FinishedRequest } from "../domain/grant/index.ts"
import { bringsCookie } from "../domain/session/index.ts"
import { isOnDevice } from "../protocol/redirect-uri.ts"
import type { Cx } from "../store/index.ts"
import type { PageContext } from "./context.ts"
import { goTo } from "./form.ts"
import { lookOrgOf } from "./look/labelling.ts"
import { showTrouble } from "./page.ts"
import { continuePath } from "./path.ts"
import { askedName, justAnswered } from "./request.ts"
import type { BrowserContext } from "./session.ts"

/** A request of this browser that was answered or refused; undefined for every other. */
export function finishedRequest(
  cx: Cx,
  { browser }: BrowserContext,
  { id, formOf }: PostedRequest,
): FinishedRequest | undefined {
  const finished = finishedOf(cx.store.state(cx, authRequest, id))
  // A browser that lost the cookie of its sign-in learns no more here than it knew before.
  const isOwn = finished && [browser.id, browser.former?.id, formOf].includes(finished.agentId)
  return isOwn ? finished : undefined
}

type PostedRequest = {
  readonly id: string
  /** The browser that a posted form was made for; see `browserOfForm`. */
  readonly formOf?: string | undefined
}

function finishedOf(state: AuthRequest): FinishedRequest | undefined {
  if (state.status === "answered") return { ...state.asked, agentId: state.agentId }
  if (state.status === "exchanged" || state.status === "failed") return state.finished
  return undefined
}

/**
 * Shows that a sign-in is finished, and offers to continue to the application: to people who went
 * back in their browser. Undefined where the request is not finished, or another browser's.
 */
export function showFinished(
  { cx, show, browserContext }: FinishedContext,
  { mayContinue = false, ...posted }: FinishedOptions,
): Promise<Response> | undefined {
  const { id } = posted
  const finished = finishedRequest(cx, browserContext, posted)
  if (!finished) return undefined
  // An answer that was not used yet is sent again, once the person asks for it.
  const answered = mayContinue ? justAnswered(cx, browserContext, id) : undefined
  const href = answered ? continuePath({ id, asked: answered.asked }) : startOf(cx, finished)
  const application = askedName(cx, finished)
  return show(
    cx,
    (ui, shared) => ui.ContinuePage({ ...shared, application, href, why: "finished" }),
    {
      languages: finished.languages,
      orgId: lookOrgOf(cx, finished),
      cookies: [browserContext.browser.setCookie],
    },
  )
}

type FinishedContext = Pick<PageContext, "cx" | "show" | "browserContext">

type FinishedOptions = PostedRequest & {
  /** Whether an answer that was not used yet may be sent again. */
  readonly mayContinue?: boolean
}

/**
 * The first page of an application. A native application has none, and to an application that
 * registered itself no page leads without a sign-in (RFC 9700 §4.11.2).
 */
function startOf(cx: Cx, finished: FinishedRequest): string | undefined {
  const { appId, redirectUri } = finished
  if (!/^https?:/.test(redirectUri) || isSelfRegistered(cx, appId)) return undefined
  const application = applicationAskedFor(cx, finished)
  const isNative = application?.kind === "oidc" && application.oidc.appType === "native"
  return isNative && isOnDevice(redirectUri) ? undefined : `${new URL(redirectUri).origin}/`
}

/** A request for something that a request to sign in has come to. */
export type FinishContext = Pick<PageContext, "cx" | "show" | "browserContext" | "request">

/** GET of the page of a request that does not wait in this browser: says why. */
export function showOver(context: FinishContext, id: string): Promise<Response> | Response {
  const { cx, show, browserContext, request } = context
  const { browser, header } = browserContext
  const finished = showFinished({ cx, show, browserContext }, { id })
  if (finished !== undefined) return finished
  if (bringsCookie(header))
    return showTrouble(show, cx, { problem: "expired", cookies: [browser.setCookie] })
  // It gets a cookie, and opens the page once more: if it brings none then, it keeps none.
  const { pathname, search } = new URL(request.url)
  const marked = `${pathname}${search}${search === "" ? "?" : "&"}${sentMark}`
  return showNoCookies(context) ?? goTo(marked, browser.setCookie)
}

/** GET of a page with a cookie that was sent before: says that cookies are blocked, if they are. */
export function showNoCookies(context: FinishContext): Promise<Response> | undefined {
  const { cx, show, browserContext, request } = context
  const { pathname, searchParams } = new URL(request.url)
  if (bringsCookie(browserContext.header) || !searchParams.has(sentMark)) return undefined
  searchParams.delete(sentMark)
  const startHref = searchParams.size > 0 ? `${pathname}?${searchParams}` : pathname
  const cookies = [browserContext.browser.setCookie]
  return showTrouble(show, cx, { problem: "no_cookies", startHref, cookies })
}

/** Says why a form is refused that is not from a page of this browser; `href` is its page. */
export function showForeignForm(context: FinishContext, href: string): Promise<Response> {
  const { cx, show, browserContext } = context
  const cookies = [browserContext.browser.setCookie]
  const refusal = { status: 403, cookies }
  if (bringsCookie(browserContext.header))
    return showTrouble(show, cx, { problem: "other_browser", ...refusal })
  return showTrouble(show, cx, { problem: "no_cookies", startHref: href, ...refusal })
}

/** In the address of a page that a browser opens once more, with the cookie that it was sent. */
const sentMark = "cookie-sent"
