import {
  attemptMagicLink,
  createMagicLink,
  type MagicLink,
  requestMagicLink,
} from "../../../domain/credential/index.ts"
import { queueMagicLink } from "../../../domain/message/index.ts"
import { findDeviceId } from "../../../domain/session/index.ts"
import { accountOf } from "../../../domain/user-lookup/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import {
  applicationOf,
  formTargetOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
} from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { pageStateFor } from "../../page-state.ts"
import { offersLink } from "../../part/by-email.ts"
import { loginPaths } from "../../path.ts"
import { showProblem } from "../../problem.ts"
import { findPendingRequest } from "../../request.ts"
import type { BrowserContext } from "../../session.ts"

type Problem =
  | { readonly key: "link.error.missing" | "link.error.wrong" }
  | { readonly key: "password.error.too_many_tries"; readonly retryAfterSeconds: number }

/** State of the page: the requested link, and why the entered code was rejected. */
type MagicLinkState = {
  readonly link: MagicLink
  /** As entered; empty for a link that was opened from an email. */
  readonly loginName: string
  readonly problem?: Problem
}

const magicLinkState = pageStateFor<MagicLinkState>(loginPaths.magicLink)

/**
 * The content of an emailed link. It can be opened only in the browser that requested it, which
 * sealed this state.
 */
type OpenedLink = { readonly link: MagicLink; readonly request: string }

const openedLinkState = pageStateFor<OpenedLink>(loginPaths.magicLinkOpen)

/** GET: asks for the code of the email. */
function showMagicLink(loginContext: LoginContext): Promise<Response> | Response {
  const linkState = magicLinkState.of(loginContext)
  if (!linkState) return redirectTo(hrefOf(loginContext, loginPaths.loginName))
  return linkPage(loginContext, { ...linkState, isOpened: false })
}

/**
 * GET of an emailed link; neither verifies nor uses the code. In another browser it does not sign
 * in: a stranger may have requested it and be waiting for that.
 */
function openMagicLink(loginContext: LoginContext): Promise<Response> {
  const { cx, show, browserContext } = loginContext
  const linkState = openedLinkState.of(loginContext)
  if (!linkState) {
    return show(
      cx,
      (ui, shared) => ui.MagicLinkElsewherePage({ ...shared, signInHref: loginPaths.entry }),
      optionsOf(loginContext),
    )
  }
  const waiting = findPendingRequest(cx, browserContext, linkState.request)
  const { link } = linkState
  return linkPage({ ...loginContext, waiting }, { link, loginName: "", isOpened: true })
}

/** POST: requests a link, or verifies its code. */
function postMagicLink(loginContext: LoginContext, fields: Fields): Promise<Response> | Response {
  const sealed = fields.get("link")
  if (sealed === "") return sendLink(loginContext, fields.get("loginName").trim())
  const { cx, browserContext } = loginContext
  const plain = cx.secrets.open("cookie", sealed, sealContextOf(cx, browserContext))
  if (plain === undefined) return redirectTo(hrefOf(loginContext, loginPaths.loginName))
  const loginName = fields.get("loginName").slice(0, nameMax)
  return signInByCode(
    loginContext,
    { link: JSON.parse(plain), loginName },
    fields.get("code").trim(),
  )
}

const nameMax = 200

/** The next page is always the same, so that it does not reveal whether the account exists. */
async function sendLink(loginContext: LoginContext, loginName: string): Promise<Response> {
  if (loginName === "" || loginName.length > nameMax || !offersLink(loginContext))
    return redirectTo(hrefOf(loginContext, loginPaths.loginName))
  const { cx, browserContext, waiting } = loginContext
  try {
    cx.allowance?.spend("message")
    const paced = cx.allowance?.pace()
    const { link, code } = createMagicLink(cx, { account: accountOf(cx, loginName) })
    const { account, expires } = link
    const device = findDeviceId(cx, browserContext, account)
    const linkState = { link, request: waiting?.id ?? "" }
    const path = openedLinkState.href({ ...loginContext, waiting: undefined }, linkState)
    const urlTemplate = `${browserContext.issuer}${path}#{{.Code}}`
    await cx.store.transact(cx, (tx) => {
      if (requestMagicLink(tx, { account, device }))
        queueMagicLink(tx, { userId: account, code, expires, urlTemplate })
    })
    await paced?.()
    return magicLinkState.next(loginContext, { link, loginName })
  } catch (cause) {
    const { retryAfterSeconds } = tooManyTriesProblem(cause)
    return showProblem(loginContext, { problem: "too_many_tries", status: 429, retryAfterSeconds })
  }
}

/** The code signs in here, once; failed attempts are counted. */
async function signInByCode(
  loginContext: LoginContext,
  state: MagicLinkState,
  text: string,
): Promise<Response> {
  const { link } = state
  const again = (problem: Problem) => magicLinkState.next(loginContext, { ...state, problem })
  if (text === "") return again({ key: "link.error.missing" })
  const { cx, browserContext } = loginContext
  const device = findDeviceId(cx, browserContext, link.account)
  try {
    cx.allowance?.spend("guess")
    const entered = await completeSignIn<InvalidCode>(loginContext, {
      userId: link.account,
      first: (tx) =>
        attemptMagicLink(tx, link, { device, given: text }) ? undefined : invalidCode,
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

const invalidCode = { key: "link.error.wrong" } as const
type InvalidCode = typeof invalidCode

/** Concurrent uses of one code: the store rejects the second. */
const problemOf = (cause: unknown): Problem =>
  cause instanceof Fault && cause.id === "user.factor_used"
    ? invalidCode
    : tooManyTriesProblem(cause)

function tooManyTriesProblem(cause: unknown) {
  const { retryAfterSeconds } = cause instanceof Fault ? cause : {}
  if (retryAfterSeconds === undefined) throw cause
  return { key: "password.error.too_many_tries", retryAfterSeconds } as const
}

/** A link is valid only in the browser that requested it. */
const sealContextOf = (cx: Cx, { browser }: BrowserContext): string =>
  `magic_link/${cx.instance}/${browser.id}`

type MagicLinkPageOptions = MagicLinkState & { readonly isOpened: boolean }

function linkPage(
  loginContext: LoginContext,
  { link, loginName, problem, isOpened }: MagicLinkPageOptions,
): Promise<Response> {
  const { cx, browserContext } = loginContext
  const page = {
    form: formTargetOf(loginContext, loginPaths.magicLink),
    link: cx.secrets.seal("cookie", JSON.stringify(link), sealContextOf(cx, browserContext)),
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
  get: showMagicLink,
  post: postMagicLink,
}

export const magicLinkOpenScreen: Screen = { path: loginPaths.magicLinkOpen, get: openMagicLink }
