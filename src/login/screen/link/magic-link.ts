import {
  createMagicLink,
  type MagicLink,
  requestMagicLink,
  tryMagicLink,
} from "../../../domain/credential/index.ts"
import { queueMagicLink } from "../../../domain/message/index.ts"
import { deviceOf } from "../../../domain/session/index.ts"
import { accountOf } from "../../../domain/user-lookup/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import {
  applicationOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
  targetOf,
} from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { notesFor } from "../../note.ts"
import { mayAskLink } from "../../part/by-mail.ts"
import { loginPaths } from "../../path.ts"
import { waitingRequest } from "../../request.ts"
import type { BrowserContext } from "../../session.ts"
import { trouble } from "../../trouble.ts"

type Problem =
  | { readonly key: "link.error.missing" | "link.error.wrong" }
  | { readonly key: "password.error.too_many_tries"; readonly retryAfterSeconds: number }

/** What was asked for, and what was wrong with the code that was typed. */
type Sent = {
  readonly link: MagicLink
  /** As it was typed; the note of a mail holds none. */
  readonly loginName: string
  readonly problem?: Problem
}

const sent = notesFor<Sent>(loginPaths.magicLink)

/** What the mail leads to; it opens in the browser that has asked, whose note this is. */
type Opened = { readonly link: MagicLink; readonly request: string }

const opened = notesFor<Opened>(loginPaths.magicLinkOpen)

/** GET: asks for the code of the mail. */
function askMagicLink(loginContext: LoginContext): Promise<Response> | Response {
  const note = sent.of(loginContext)
  if (!note) return goTo(hrefOf(loginContext, loginPaths.loginName))
  return linkPage(loginContext, { ...note, isOpened: false })
}

/**
 * GET of the link in the mail; it looks at no code and uses none up. Elsewhere it signs nobody in:
 * whoever asked for it may be a stranger, who waits for just that.
 */
function openMagicLink(loginContext: LoginContext): Promise<Response> {
  const { cx, show, browserContext } = loginContext
  const note = opened.of(loginContext)
  if (!note) {
    return show(
      cx,
      (ui, shared) => ui.MagicLinkElsewherePage({ ...shared, signInHref: loginPaths.entry }),
      optionsOf(loginContext),
    )
  }
  const waiting = waitingRequest(cx, browserContext, note.request)
  const { link } = note
  return linkPage({ ...loginContext, waiting }, { link, loginName: "", isOpened: true })
}

/** A link is asked for, or the code of its mail shown. */
function takeMagicLink(loginContext: LoginContext, fields: Fields): Promise<Response> | Response {
  const sealed = fields.get("link")
  if (sealed === "") return sendLink(loginContext, fields.get("loginName").trim())
  const { cx, browserContext } = loginContext
  const plain = cx.secrets.open("cookie", sealed, aboutOf(cx, browserContext))
  if (plain === undefined) return goTo(hrefOf(loginContext, loginPaths.loginName))
  const loginName = fields.get("loginName").slice(0, nameMax)
  return enter(loginContext, { link: JSON.parse(plain), loginName }, fields.get("code").trim())
}

const nameMax = 200

/** Whatever comes of it, the next page is the same. */
async function sendLink(loginContext: LoginContext, loginName: string): Promise<Response> {
  if (loginName === "" || loginName.length > nameMax || !mayAskLink(loginContext))
    return goTo(hrefOf(loginContext, loginPaths.loginName))
  const { cx, browserContext, waiting } = loginContext
  try {
    cx.allowance?.spend("message")
    const paced = cx.allowance?.pace()
    const { link, code } = createMagicLink(cx, { account: accountOf(cx, loginName) })
    const { account, expires } = link
    const device = deviceOf(cx, browserContext, account)
    const note = { link, request: waiting?.id ?? "" }
    const path = opened.href({ ...loginContext, waiting: undefined }, note)
    const urlTemplate = `${browserContext.issuer}${path}#{{.Code}}`
    await cx.store.transact(cx, (tx) => {
      if (requestMagicLink(tx, { account, device }))
        queueMagicLink(tx, { userId: account, code, expires, urlTemplate })
    })
    await paced?.()
    return sent.next(loginContext, { link, loginName })
  } catch (cause) {
    const { retryAfterSeconds } = busyIn(cause)
    return trouble(loginContext, { problem: "too_many_tries", status: 429, retryAfterSeconds })
  }
}

/** The code signs in here, once; a wrong one is counted. */
async function enter(loginContext: LoginContext, at: Sent, given: string): Promise<Response> {
  const { link } = at
  const again = (problem: Problem) => sent.next(loginContext, { ...at, problem })
  if (given === "") return again({ key: "link.error.missing" })
  const { cx, browserContext } = loginContext
  const device = deviceOf(cx, browserContext, link.account)
  try {
    cx.allowance?.spend("guess")
    const entered = await completeSignIn<Wrong>(loginContext, {
      userId: link.account,
      first: (tx) => (tryMagicLink(tx, link, { device, given }) ? undefined : wrong),
      proof: () => ({ kind: "magic_link" }),
      method: "passwordless",
    })
    if (!(entered instanceof Response)) return again(entered)
    cx.allowance?.refund("guess")
    return entered
  } catch (cause) {
    return again(problemOf(cause))
  }
}

const wrong = { key: "link.error.wrong" } as const
type Wrong = typeof wrong

/** Two that show one code at once are told apart by the store, which refuses the second. */
const problemOf = (cause: unknown): Problem =>
  cause instanceof Fault && cause.id === "user.factor_used" ? wrong : busyIn(cause)

function busyIn(cause: unknown) {
  const { retryAfterSeconds } = cause instanceof Fault ? cause : {}
  if (retryAfterSeconds === undefined) throw cause
  return { key: "password.error.too_many_tries", retryAfterSeconds } as const
}

/** A link counts in this browser alone. */
const aboutOf = (cx: Cx, { browser }: BrowserContext): string =>
  `magic_link/${cx.instance}/${browser.id}`

type Shown = Sent & { readonly isOpened: boolean }

function linkPage(
  loginContext: LoginContext,
  { link, loginName, problem, isOpened }: Shown,
): Promise<Response> {
  const { cx, browserContext } = loginContext
  const page = {
    form: targetOf(loginContext, loginPaths.magicLink),
    link: cx.secrets.seal("cookie", JSON.stringify(link), aboutOf(cx, browserContext)),
    account: loginName === "" ? undefined : { displayName: loginName, loginName },
    isOpened,
    backHref: hrefOf(loginContext, loginPaths.loginName),
    application: applicationOf(loginContext),
  }
  const seconds = problem && "retryAfterSeconds" in problem ? problem.retryAfterSeconds : 0
  const status = seconds > 0 ? 429 : 422
  return loginContext.show(
    cx,
    (ui, { t, ...shared }) => {
      const error = problem && t(problem.key, { minutes: Math.ceil(seconds / 60) })
      return ui.MagicLinkPage({ ...shared, t, ...page, error })
    },
    { ...optionsOf(loginContext, problem ? status : 200), retryAfterSeconds: seconds },
  )
}

export const magicLinkScreen: Screen = {
  path: loginPaths.magicLink,
  get: askMagicLink,
  post: takeMagicLink,
}

export const magicLinkOpenScreen: Screen = { path: loginPaths.magicLinkOpen, get: openMagicLink }
