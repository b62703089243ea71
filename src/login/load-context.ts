import { requestLifetimes } from "../domain/grant/index.ts"
import { findBrowserOfForm } from "../domain/session/index.ts"
import { findByLoginName } from "../domain/user-lookup/index.ts"
import type { LoginContext, PageContext } from "./context.ts"
import {
  findFinishedRequest,
  showFinished,
  showFinishedReason,
  showForeignForm,
} from "./finished.ts"
import { type Fields, redirectTo } from "./form.ts"
import { continuePath, loginPaths, withRequest } from "./path.ts"
import { showProblem } from "./problem.ts"
import {
  findJustCompleted,
  findPendingRequest,
  type JustCompletedRequest,
  requirementsOf,
} from "./request.ts"
import { isOwnForm, sessionsInBrowser } from "./session.ts"

/** Loads the login context of a page; its request must be pending in this browser. */
export async function loadLoginContext(
  pageContext: PageContext,
  requestId: string,
): Promise<LoginContext | Response> {
  if (requestId === "") return { ...pageContext, waiting: undefined }
  const waiting = findPendingRequest(pageContext.cx, pageContext.browserContext, requestId)
  if (waiting) return { ...pageContext, waiting }
  const finished = showFinished(pageContext, { id: requestId, mayContinue: true })
  if (finished !== undefined) return finished
  const isPost = pageContext.request.method === "POST"
  return isPost
    ? showProblem(pageContext, { problem: "expired" })
    : showFinishedReason(pageContext, requestId)
}

/**
 * Loads the login context of a posted page; the form must be from a page that this browser
 * received.
 */
export async function loadPostedLoginContext(
  pageContext: PageContext,
  fields: Fields,
): Promise<LoginContext | Response> {
  const { cx, browserContext, request } = pageContext
  const requestId = fields.get("authRequest")
  const answered = findRepeatedPost(pageContext, fields)
  if (answered) return redirectTo(continuePath({ id: requestId, asked: answered.asked }))
  const repeated = loadRepeatedLoginContext(pageContext, fields)
  if (repeated) return repeated
  // After a second click, or after Back, the page offers to continue.
  const finishedId = requestId || fields.get("request")
  if (findFinishedRequest(cx, browserContext, { id: finishedId }))
    return redirectTo(withRequest(loginPaths.loginName, finishedId))
  if (isOwnForm(cx, browserContext, { request, csrf: fields.get("csrf") }))
    return loadLoginContext(pageContext, requestId)
  // Another tab has signed in and replaced the cookie. The sign-in continues, unless the form is
  // for a different user.
  const waiting = findPendingRequest(cx, browserContext, requestId)
  if (waiting) {
    const enteredName = fields.get("loginName")
    const { present } = browserContext
    const isOther =
      enteredName !== "" && present.length > 0 && !isSignedIn(pageContext, enteredName)
    const path = withRequest(loginPaths.loginName, requestId)
    return redirectTo(isOther ? path : continuePath(waiting))
  }
  // The client has already received its response; the page only confirms the sign-in.
  if (isSignedIn(pageContext, fields.get("loginName"))) return redirectTo(loginPaths.signedIn)
  const { secure, header } = browserContext
  const formOf = findBrowserOfForm(cx, { secure, header, csrf: fields.get("csrf") })
  const lost = showFinished(pageContext, { id: finishedId, formOf, mayContinue: true })
  return lost ?? showForeignForm(pageContext, withRequest(loginPaths.loginName, requestId))
}

/**
 * A request that a form just completed, when a double click posts the form again. Undefined if the
 * form is for a different user.
 */
function findRepeatedPost(
  { cx, browserContext }: PageContext,
  fields: Fields,
): JustCompletedRequest | undefined {
  const answered = findJustCompleted(cx, browserContext, fields.get("authRequest"))
  if (!answered) return undefined
  const name = fields.get("loginName")
  const present = browserContext.present.filter(({ id }) => id === answered.sessionId)
  const isSame =
    name === ""
      ? fields.get("session") === answered.sessionId
      : isSignedIn({ cx, browserContext: { ...browserContext, present } }, name)
  return isSame ? answered : undefined
}

/** Whether the user with this login name is signed in here. */
function isSignedIn(
  { cx, browserContext }: Pick<PageContext, "cx" | "browserContext">,
  loginName: string,
): boolean {
  const userIdOfName = loginName === "" ? undefined : findByLoginName(cx, loginName)
  return browserContext.present.some(({ userId }) => userId === userIdOfName)
}

/**
 * The login context of a password that a double click posted again, before the browser had received
 * the cookie of the first response. The old cookie grants no access: the password is checked again,
 * and must be that of the only user signed in to this browser.
 */
function loadRepeatedLoginContext(
  pageContext: PageContext,
  fields: Fields,
): LoginContext | undefined {
  const { cx, request, browserContext } = pageContext
  const browser = browserContext.browser.previous
  if (!browser || fields.get("password") === "") return undefined
  const before = { ...browserContext, browser, present: sessionsInBrowser(cx, browser) }
  const isOwn = isOwnForm(cx, before, { request, csrf: fields.get("csrf") })
  const isAlone = browser.sessions.length === 1
  if (!isOwn || !isAlone) return undefined
  const id = fields.get("authRequest")
  const repeated = { ...pageContext, browserContext: { ...before, present: [] } }
  const asked = findRepeatedPost({ ...pageContext, browserContext: before }, fields)?.asked
  if (asked) {
    const rest = { loginHint: "", created: cx.clock.now(), sessionId: "" }
    const requirements = requirementsOf(cx, asked, rest)
    return { ...repeated, waiting: { id, asked, loginHint: "", requirements } }
  }
  if (!isJustSignedIn({ cx, browserContext: before }, fields.get("loginName"))) return undefined
  const waiting = findPendingRequest(cx, before, id)
  return waiting || id === "" ? { ...repeated, waiting } : undefined
}

/** Whether the user with this login name has just signed in here with a password only. */
function isJustSignedIn(
  { cx, browserContext }: Pick<PageContext, "cx" | "browserContext">,
  loginName: string,
): boolean {
  const present = browserContext.present.filter(
    ({ authTime, checks }) =>
      cx.clock.now() < authTime + requestLifetimes.code &&
      Object.keys(checks).every((kind) => kind === "password"),
  )
  return isSignedIn({ cx, browserContext: { ...browserContext, present } }, loginName)
}
