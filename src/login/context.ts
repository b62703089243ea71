import type { Account, Application, Destination, Target } from "../../ui/login/index.ts"
import { applicationAskedFor } from "../domain/app/index.ts"
import { requestLifetimes } from "../domain/grant/index.ts"
import { requireInstance } from "../domain/instance/index.ts"
import { label, policyOf } from "../domain/policy/index.ts"
import { browserOfForm, csrfOf } from "../domain/session/index.ts"
import { avatarPath, findByLoginName, homeOf, profile, shownNames } from "../domain/user/index.ts"
import { isOnDevice } from "../kernel/net/redirect-uri.ts"
import type { Cx } from "../store/index.ts"
import { finishedRequest, showFinished, showForeignForm, showOver } from "./finished.ts"
import type { Step } from "./flow.ts"
import { type Fields, goTo } from "./form.ts"
import { lookOrgOf } from "./look/labelling.ts"
import { learnedBy } from "./look/learned.ts"
import { notesFor } from "./note.ts"
import { type PageOptions, type ShowPage, showTrouble, type Trouble } from "./page.ts"
import { continuePath, loginPaths, withRequest } from "./path.ts"
import {
  askedName,
  type BrowserContext,
  isOwnForm,
  type JustAnswered,
  justAnswered,
  presentIn,
  requirementsOf,
  stepFor,
  type Waiting,
  waitingRequest,
} from "./request.ts"

/** Everything that a page of the sign-in works with. */
export type LoginContext = {
  readonly cx: Cx
  readonly show: ShowPage
  readonly request: Request
  readonly browserContext: BrowserContext
  /** Absent where somebody signs in without an application to go to. */
  readonly waiting: Waiting | undefined
}

/** What is known before the request that waits. */
export type PageContext = Omit<LoginContext, "waiting">

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

type Troubled = PageContext & Partial<Pick<LoginContext, "waiting">>

/** Says that something stands in the way; of what was posted, on a page of its own. */
export const trouble = (context: Troubled, what: Trouble): Promise<Response> | Response =>
  context.request.method === "POST"
    ? troubles.next(context, { ...what, requestId: context.cx.requestId })
    : troublePage(context, what)

/** Says it where it stands: also to a form that is not from a page of ours. */
export function troublePage(
  { cx, show, browserContext, waiting }: Troubled,
  what: Trouble,
): Promise<Response> {
  const languages = waiting?.asked.languages ?? []
  const orgId = lookOrgOf(cx, waiting?.asked)
  const cookies = [browserContext.browser.setCookie]
  const signInHref = waiting && withRequest(loginPaths.loginName, waiting.id)
  return showTrouble(show, cx, { languages, orgId, signInHref, ...what, cookies })
}

const troubles = notesFor<Trouble>(loginPaths.trouble)

/** GET of what a form has met. */
export function showTroubled(loginContext: LoginContext): Promise<Response> | Response {
  const note = troubles.of(loginContext)
  return note ? troublePage(loginContext, note) : goTo(loginPaths.signedIn)
}

/** Where a form of the context posts to. */
export const targetOf = (
  { cx, browserContext, waiting }: LoginContext,
  action: string,
): Target => ({
  action,
  csrf: csrfOf(cx, browserContext.browser),
  authRequest: waiting?.id,
})

/** An address that keeps the request of the context. */
export const hrefOf = ({ waiting }: LoginContext, path: string): string =>
  withRequest(path, waiting?.id ?? "")

/** Where the browser goes when somebody has signed in. */
export const afterwards = ({ waiting }: Pick<LoginContext, "waiting">): string =>
  waiting ? continuePath(waiting) : loginPaths.signedIn

/** Options that every page of the context has; `userId` is who has shown who they are. */
export const optionsOf = (
  { cx, browserContext, waiting }: LoginContext,
  status = 200,
  userId = "",
): PageOptions => ({
  status,
  languages: waiting?.asked.languages ?? [],
  orgId: lookOrgOf(cx, waiting?.asked, userId),
  cookies: [browserContext.browser.setCookie],
})

/** A user as pages show them to whoever may know. */
export function accountOf(cx: Cx, userId: string): Account {
  const known = profile(cx, userId)
  const userName = known?.userName ?? ""
  const org = homeOf(cx, userId)
  const { preferredLoginName: loginName } = shownNames(cx, { user_name: userName, org })
  // What is posted has to be found, whatever is shown of it.
  const shownAs = policyOf(cx, org, label).hideLoginNameSuffix ? userName : loginName
  const picture = avatarPath(cx, userId)
  return { displayName: known?.name || shownAs, loginName, shownAs, picture }
}

/** The application that waits, and what it will learn. */
export function applicationOf({ cx, waiting }: LoginContext): Application | undefined {
  if (!waiting) return undefined
  const { clientId, audience } = waiting.asked
  const own = requireInstance(cx)
  const client = applicationAskedFor(cx, waiting.asked)
  const isOurs = clientId === own.consoleClientId
  const isForOurs = audience.includes(own.projectId) && !isOurs
  const manages = isForOurs ? (["manage"] as const) : []
  const isInDevelopment = client?.kind === "oidc" && client.oidc.devMode
  const name = askedName(cx, waiting.asked)
  const unvouched = client?.registration && destinationOf(waiting)
  const describedAt = unvouched && hostOf(clientId)
  const told = [...learnedBy(waiting.asked), ...manages]
  return { name, learns: told, isInDevelopment, isOurs, unvouched, describedAt }
}

/** The host of a client id that is the address of a document; of others there is none. */
const hostOf = (clientId: string): string | undefined => URL.parse(clientId)?.host || undefined

/** Where an answer goes, as a person can judge it. */
function destinationOf({ asked: { redirectUri, device } }: Waiting): Destination {
  if (device) return { kind: "elsewhere" }
  if (isOnDevice(redirectUri)) return { kind: "local" }
  return { kind: "web", host: new URL(redirectUri).host }
}

/** What must happen next; where nobody waits, somebody only says who they are. */
export const stepOf = ({ cx, browserContext, waiting }: LoginContext): Step =>
  waiting ? stepFor(cx, waiting, browserContext.present) : { kind: "login name" }
