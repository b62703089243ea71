import type { Account, Application, Learnable, Target } from "../../ui/login/index.ts"
import { findClient } from "../domain/app/index.ts"
import { requireInstance } from "../domain/instance/index.ts"
import { csrfOf } from "../domain/session/index.ts"
import { findByLoginName, profile } from "../domain/user/index.ts"
import type { Cx, Transaction } from "../store/index.ts"
import type { Present } from "./flow.ts"
import { type Fields, goTo } from "./form.ts"
import { type PageOptions, type ShowPage, showTrouble, type Trouble } from "./page.ts"
import { loginPaths, withRequest } from "./path.ts"
import {
  applicationName,
  isOwnForm,
  type JustAnswered,
  justAnswered,
  presentIn,
  type Visit,
  type Waiting,
  waitingRequest,
  wantedOf,
} from "./visit.ts"

/** Everything that a page of the sign-in works with. */
export type Scene = {
  readonly cx: Cx
  readonly show: ShowPage
  readonly request: Request
  readonly visit: Visit
  /** Where a request goes on when the login has done its part. */
  readonly onward: (requestId: string) => string
  readonly answering: Answering
  /** Absent where somebody signs in without an application to go to. */
  readonly waiting: Waiting | undefined
}

/** How a request is answered for which somebody had to sign in, and nothing else. */
export type Answering = {
  /** Answers it as a part of the step that signs in; whether it did. */
  readonly within: (cx: Cx, tx: Transaction, waiting: Waiting, session: Present) => boolean
  /** Tells the client after that step; the Set-Cookie line goes with it. */
  readonly tell: (
    scene: Pick<Scene, "cx" | "show">,
    waiting: Waiting,
    setCookie: string,
  ) => Promise<Response>
  /** Answers once more what was answered a moment ago, as it was asked and allowed then. */
  readonly again: (
    scene: Pick<Scene, "cx" | "show">,
    answered: JustAnswered,
    setCookie: string | undefined,
  ) => Promise<Response>
}

/** What is known before the request that waits. */
export type Base = Omit<Scene, "waiting">

/** Sets the scene of a page: the request it names must wait in this very browser. */
export async function sceneOf(base: Base, requestId: string): Promise<Scene | Response> {
  if (requestId === "") return { ...base, waiting: undefined }
  const waiting = waitingRequest(base.cx, base.visit, requestId)
  if (waiting) return { ...base, waiting }
  return trouble(base, { problem: "expired" })
}

/** The scene of a posted page, which must be one that we gave to this browser. */
export async function postedScene(base: Base, fields: Fields): Promise<Scene | Response> {
  const { cx, visit, request } = base
  const requestId = fields.get("authRequest")
  const answered = postedAgain(base, fields)
  if (answered) return base.answering.again(base, answered, visit.browser.setCookie)
  const former = formerScene(base, fields)
  if (former) return former
  if (isOwnForm(cx, visit, { request, csrf: fields.get("csrf") })) return sceneOf(base, requestId)
  // Another tab has signed in meanwhile and changed the cookie: nothing is lost by going on.
  if (waitingRequest(cx, visit, requestId)) return goTo(base.onward(requestId))
  // The client has its answer already: what is left is to say that it has worked.
  if (isPresent(base, fields.get("loginName"))) return goTo(loginPaths.signedIn)
  return trouble(base, { problem: "other_browser", status: 403 })
}

/**
 * What a form has led to a moment ago that a double click posts a second time. Whoever says that
 * they are somebody else has not been answered.
 */
function postedAgain({ cx, visit }: Base, fields: Fields): JustAnswered | undefined {
  const answered = justAnswered(cx, visit, fields.get("authRequest"))
  if (!answered) return undefined
  const name = fields.get("loginName")
  const present = visit.present.filter(({ id }) => id === answered.sessionId)
  const isSame =
    name === ""
      ? fields.get("session") === answered.sessionId
      : isPresent({ cx, visit: { ...visit, present } }, name)
  return isSame ? answered : undefined
}

/** Whether who has this login name is signed in here. */
function isPresent({ cx, visit }: Pick<Base, "cx" | "visit">, loginName: string): boolean {
  const known = loginName === "" ? undefined : findByLoginName(cx, loginName)
  return visit.present.some(({ userId }) => userId === known)
}

/**
 * The scene of a password that a double click has posted a second time, before the browser could
 * get the cookie that the first one brought. The old cookie opens nothing by itself: the password
 * is asked for again, and it must be that of the only person who is signed in to this browser.
 */
function formerScene(base: Base, fields: Fields): Scene | undefined {
  const { cx, request, visit } = base
  const browser = visit.browser.former
  if (!browser || fields.get("password") === "") return undefined
  const before = { ...visit, browser, present: presentIn(cx, browser) }
  const isOwn = isOwnForm(cx, before, { request, csrf: fields.get("csrf") })
  const isAlone = browser.sessions.length === 1
  const asked = postedAgain({ ...base, visit: before }, fields)?.asked
  if (!isOwn || !isAlone || !asked) return undefined
  const id = fields.get("authRequest")
  const rest = { loginHint: "", created: cx.clock.now(), sessionId: "" }
  const waiting = { id, asked, loginHint: "", wanted: wantedOf(cx, asked, rest) }
  return { ...base, visit: { ...before, present: [] }, waiting }
}

/** Shows that something stands in the way. */
export function trouble(
  { cx, show, visit, waiting }: Base & Partial<Pick<Scene, "waiting">>,
  what: Trouble,
): Promise<Response> {
  const languages = waiting?.asked.languages ?? []
  return showTrouble(show, cx, { languages, ...what, cookies: [visit.browser.setCookie] })
}

/** Where a form of the scene posts to. */
export const targetOf = ({ cx, visit, waiting }: Scene, action: string): Target => ({
  action,
  csrf: csrfOf(cx, visit.browser),
  authRequest: waiting?.id,
})

/** An address that keeps the request of the scene. */
export const hrefOf = ({ waiting }: Scene, path: string): string =>
  withRequest(path, waiting?.id ?? "")

/** Where the browser goes when somebody has signed in. */
export const afterwards = ({ waiting, onward }: Scene): string =>
  waiting ? onward(waiting.id) : loginPaths.signedIn

/** Options that every page of the scene has. */
export const optionsOf = ({ visit, waiting }: Scene, status = 200): PageOptions => ({
  status,
  languages: waiting?.asked.languages ?? [],
  target: waiting?.asked.redirectUri,
  orgId: waiting?.asked.home,
  cookies: [visit.browser.setCookie],
})

/** A user as pages show them to whoever may know. */
export function accountOf(cx: Cx, userId: string): Account {
  const known = profile(cx, userId)
  return { displayName: known?.name || (known?.userName ?? ""), loginName: known?.userName ?? "" }
}

/** The application that waits, and what it will learn. */
export function applicationOf({ cx, waiting }: Scene): Application | undefined {
  if (!waiting) return undefined
  const { clientId, scopes, audience } = waiting.asked
  const learns = scopes.flatMap((scope) => learned[scope] ?? [])
  const own = requireInstance(cx)
  const client = findClient(cx, clientId)?.state
  const isForOurs = audience.includes(own.projectId) && clientId !== own.consoleClientId
  const manages = isForOurs ? (["manage"] as const) : []
  const isInDevelopment = client?.kind === "oidc" && client.oidc.devMode
  const name = applicationName(cx, clientId)
  return { name, learns: [...learns, ...manages], isInDevelopment }
}

const learned: Readonly<Record<string, Learnable>> = {
  openid: "identity",
  profile: "name",
  email: "email",
  phone: "phone",
  offline_access: "offline",
}
