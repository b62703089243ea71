import { requestLifetimes } from "../domain/grant/index.ts"
import { browserOfForm } from "../domain/session/index.ts"
import { findByLoginName } from "../domain/user-lookup/index.ts"
import type { LoginContext, PageContext } from "./context.ts"
import { finishedRequest, showFinished, showForeignForm, showOver } from "./finished.ts"
import { type Fields, goTo } from "./form.ts"
import { continuePath, loginPaths, withRequest } from "./path.ts"
import { type JustAnswered, justAnswered, requirementsOf, waitingRequest } from "./request.ts"
import { isOwnForm, presentIn } from "./session.ts"
import { trouble } from "./trouble.ts"

/** Finds the login context of a page: the request it names must wait in this very browser. */
export async function loginContextOf(
  pageContext: PageContext,
  requestId: string,
): Promise<LoginContext | Response> {
  if (requestId === "") return { ...pageContext, waiting: undefined }
  const waiting = waitingRequest(pageContext.cx, pageContext.browserContext, requestId)
  if (waiting) return { ...pageContext, waiting }
  const finished = showFinished(pageContext, { id: requestId, mayContinue: true })
  if (finished !== undefined) return finished
  const isPost = pageContext.request.method === "POST"
  return isPost ? trouble(pageContext, { problem: "expired" }) : showOver(pageContext, requestId)
}

/** The login context of a posted page, which must be one that we gave to this browser. */
export async function postedLoginContext(
  pageContext: PageContext,
  fields: Fields,
): Promise<LoginContext | Response> {
  const { cx, browserContext, request } = pageContext
  const requestId = fields.get("authRequest")
  const answered = postedAgain(pageContext, fields)
  if (answered) return goTo(continuePath({ id: requestId, asked: answered.asked }))
  const former = formerLoginContext(pageContext, fields)
  if (former) return former
  // A second click, or Back and the button again: the page offers to continue.
  const finishedId = requestId || fields.get("request")
  if (finishedRequest(cx, browserContext, { id: finishedId }))
    return goTo(withRequest(loginPaths.loginName, finishedId))
  if (isOwnForm(cx, browserContext, { request, csrf: fields.get("csrf") }))
    return loginContextOf(pageContext, requestId)
  // Another tab has signed in meanwhile and changed the cookie: nothing is lost by going on, but
  // for who was about to come as somebody else.
  const waiting = waitingRequest(cx, browserContext, requestId)
  if (waiting) {
    const named = fields.get("loginName")
    const { present } = browserContext
    const isOther = named !== "" && present.length > 0 && !isPresent(pageContext, named)
    const path = withRequest(loginPaths.loginName, requestId)
    return goTo(isOther ? path : continuePath(waiting))
  }
  // The client has its answer already: what is left is to say that it has worked.
  if (isPresent(pageContext, fields.get("loginName"))) return goTo(loginPaths.signedIn)
  const { secure, header } = browserContext
  const formOf = browserOfForm(cx, { secure, header, csrf: fields.get("csrf") })
  const lost = showFinished(pageContext, { id: finishedId, formOf, mayContinue: true })
  return lost ?? showForeignForm(pageContext, withRequest(loginPaths.loginName, requestId))
}

/**
 * What a form has led to a moment ago that a double click posts a second time. Whoever says that
 * they are somebody else has not been answered.
 */
function postedAgain(
  { cx, browserContext }: PageContext,
  fields: Fields,
): JustAnswered | undefined {
  const answered = justAnswered(cx, browserContext, fields.get("authRequest"))
  if (!answered) return undefined
  const name = fields.get("loginName")
  const present = browserContext.present.filter(({ id }) => id === answered.sessionId)
  const isSame =
    name === ""
      ? fields.get("session") === answered.sessionId
      : isPresent({ cx, browserContext: { ...browserContext, present } }, name)
  return isSame ? answered : undefined
}

/** Whether who has this login name is signed in here. */
function isPresent(
  { cx, browserContext }: Pick<PageContext, "cx" | "browserContext">,
  loginName: string,
): boolean {
  const known = loginName === "" ? undefined : findByLoginName(cx, loginName)
  return browserContext.present.some(({ userId }) => userId === known)
}

/**
 * The login context of a password that a double click has posted a second time, before the browser
 * could get the cookie that the first one brought. The old cookie opens nothing by itself: the
 * password is asked for again, and it must be that of the only person who is signed in to this
 * browser.
 */
function formerLoginContext(pageContext: PageContext, fields: Fields): LoginContext | undefined {
  const { cx, request, browserContext } = pageContext
  const browser = browserContext.browser.former
  if (!browser || fields.get("password") === "") return undefined
  const before = { ...browserContext, browser, present: presentIn(cx, browser) }
  const isOwn = isOwnForm(cx, before, { request, csrf: fields.get("csrf") })
  const isAlone = browser.sessions.length === 1
  if (!isOwn || !isAlone) return undefined
  const id = fields.get("authRequest")
  const former = { ...pageContext, browserContext: { ...before, present: [] } }
  const asked = postedAgain({ ...pageContext, browserContext: before }, fields)?.asked
  if (asked) {
    const rest = { loginHint: "", created: cx.clock.now(), sessionId: "" }
    const requirements = requirementsOf(cx, asked, rest)
    return { ...former, waiting: { id, asked, loginHint: "", requirements } }
  }
  if (!isJustSignedIn({ cx, browserContext: before }, fields.get("loginName"))) return undefined
  const waiting = waitingRequest(cx, before, id)
  return waiting || id === "" ? { ...former, waiting } : undefined
}

/** Whether the person of this name signed in here a moment ago, and proved only the password. */
function isJustSignedIn(
  { cx, browserContext }: Pick<PageContext, "cx" | "browserContext">,
  loginName: string,
): boolean {
  const present = browserContext.present.filter(
    ({ authTime, checks }) =>
      cx.clock.now() < authTime + requestLifetimes.code &&
      Object.keys(checks).every((kind) => kind === "password"),
  )
  return isPresent({ cx, browserContext: { ...browserContext, present } }, loginName)
}
