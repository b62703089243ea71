import type { Account, PageProps, UnknownKey } from "../../../../ui/login/index.ts"
import { linkSession } from "../../../domain/grant/index.ts"
import { memberships } from "../../../domain/member/index.ts"
import { login, policyFor, policyOf } from "../../../domain/policy/index.ts"
import { homeOf, isUnknownName, orgNamedIn } from "../../../domain/user/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import {
  accountOf,
  afterwards,
  applicationOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  stepOf,
  targetOf,
} from "../../context.ts"
import { missingFrom, type Present } from "../../flow.ts"
import { type Fields, goTo } from "../../form.ts"
import { notesFor } from "../../note.ts"
import { pagesOf } from "../../page.ts"
import { offeredPasskey } from "../../part/passkey.ts"
import { linkedProvidersOf, providersOf } from "../../part/provider.ts"
import { loginPaths } from "../../path.ts"
import { needFor } from "../../policy/need.ts"
import { registrationHome } from "../../policy/registration.ts"
import { type SignedIn, signInWith } from "../../sign-in.ts"
import { trouble } from "../../trouble.ts"
import { mayAskLink } from "../link/magic-link.ts"
import { registerHref } from "../register/register.ts"
import { changes } from "./change.ts"
import { forgotHref, hasToAsk } from "./forgot.ts"

/** What the first page is shown with. */
type LoginNameShown = {
  readonly loginName?: string
  readonly problem?: "missing" | "unknown"
  /** Whether a passkey was shown that opens nothing. */
  readonly hasWrongKey?: boolean
  /** That passkey, where it is nobody's. */
  readonly unknownKey?: UnknownKey
}

/** The first page, as a form has left it. */
export const loginNames = notesFor<LoginNameShown>(loginPaths.loginName)

/** GET of the first page; a login_hint fills it in. */
export const askLoginName = (loginContext: LoginContext): Promise<Response> =>
  loginNamePage(loginContext, {
    loginName: loginContext.waiting?.loginHint ?? "",
    ...loginNames.of(loginContext),
  })

/** The login name was given; only where the policy lets it is said here that it is nobody's. */
export function takeLoginName(
  loginContext: LoginContext,
  fields: Fields,
): Promise<Response> | Response {
  const loginName = fields.get("loginName").trim()
  if (loginName === "" || loginName.length > loginNameMax) {
    return loginNames.next(loginContext, {
      loginName: loginName.slice(0, loginNameMax),
      problem: "missing",
    })
  }
  const { cx, waiting } = loginContext
  if (!isUnknownName(cx, loginName, waiting?.asked.home)) {
    return passwords.next(loginContext, { loginName })
  }
  // Names are guessed one by one, as passwords are.
  try {
    cx.allowance?.spend("guess")
  } catch (cause) {
    const { retryAfterSeconds } = cause instanceof Fault ? cause : {}
    if (retryAfterSeconds === undefined) throw cause
    return trouble(loginContext, { problem: "too_many_tries", status: 429, retryAfterSeconds })
  }
  return loginNames.next(loginContext, { loginName, problem: "unknown" })
}

const loginNameMax = 200

type PasswordShown = {
  readonly loginName: string
  readonly problem?: PasswordProblem
  /** Whether a password was asked for where it only sets up a passkey. */
  readonly isSetup?: boolean
}

/** The password of a name that was typed, as a form has left it. */
const passwords = notesFor<PasswordShown>(loginPaths.password)

/** GET of the password page: for a name that was typed here, or a person that the flow knows. */
export function askPassword(loginContext: LoginContext): Promise<Response> | Response {
  const note = passwords.of(loginContext)
  if (note) {
    return passwordPage(loginContext, shownAccount(loginContext, note.loginName), note)
  }
  const step = stepOf(loginContext)
  if (step.kind !== "password") return goTo(hrefOf(loginContext, loginPaths.loginName))
  return passwordPage(loginContext, accountOf(loginContext.cx, step.userId))
}

/** The password was given. */
export async function takePassword(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const loginName = fields.get("loginName").trim()
  const password = fields.get("password")
  if (loginName === "" || loginName.length > loginNameMax) {
    return goTo(hrefOf(loginContext, loginPaths.loginName))
  }
  if (password === "") {
    return passwords.next(loginContext, { loginName, problem: { key: "password.error.missing" } })
  }
  const result = await signInWith(loginContext, loginName, password)
  if (result.kind === "in") return result.answer
  return refused(loginContext, loginName, result)
}

/** GET of the choice among the accounts of this browser. */
export function askAccount(loginContext: LoginContext): Promise<Response> | Response {
  const { cx, show, browserContext, waiting } = loginContext
  if (browserContext.present.length === 0) return goTo(hrefOf(loginContext, loginPaths.loginName))
  const hinted = waiting?.requirements.hintedUser ?? waiting?.requirements.suggestedUser
  // Whom the application means comes first; the choice is the person's.
  const first = browserContext.present.filter(({ userId }) => userId === hinted)
  const rest = browserContext.present.filter(({ userId }) => userId !== hinted)
  const accounts = [...first, ...rest].map(({ id, userId }) => ({
    ...accountOf(cx, userId),
    session: id,
    signedIn: true,
  }))
  const form = targetOf(loginContext, loginPaths.accounts)
  const otherHref = hrefOf(loginContext, loginPaths.loginName)
  const application = applicationOf(loginContext)
  return show(
    cx,
    (ui, shared) => {
      const notice = noticeFor(loginContext, shared)
      return ui.AccountPage({ ...shared, form, accounts, otherHref, application, notice })
    },
    optionsOf(loginContext),
  )
}

/** An account was chosen; it must be one that this browser has. */
export async function takeAccount(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx, browserContext, waiting } = loginContext
  const chosen = browserContext.present.find(({ id }) => id === fields.get("session"))
  if (!chosen) return goTo(hrefOf(loginContext, loginPaths.accounts))
  if (waiting) await cx.store.transact(cx, (tx) => linkSession(tx, waiting.id, chosen.id))
  return goTo(afterwards(loginContext))
}

/**
 * Signed in, with nowhere to go; the newest account is shown. Where a second factor is missing, the
 * account page comes first, whose own request asks for it.
 */
export function showSignedIn(
  loginContext: LoginContext,
  hrefs: SignedInHrefs,
): Promise<Response> | Response {
  const { cx, show, browserContext } = loginContext
  const newest = browserContext.present.at(-1)
  if (!newest) return goTo(loginPaths.loginName)
  if (hrefs.account && isFactorMissing(loginContext, newest)) return goTo(hrefs.account)
  const account = accountOf(cx, newest.userId)
  const policy = policyFor(cx, { userId: newest.userId, orgId: homeOf(cx, newest.userId) }, login)
  const continueHref = policy.defaultRedirectUri || undefined
  const { logout: logoutHref, account: accountHref } = hrefs
  // Whoever manages nothing finds nothing there.
  const console = memberships(cx, newest.userId).length > 0 ? hrefs.console : undefined
  return show(
    cx,
    (ui, shared) =>
      ui.SignedInPage({
        ...{ ...shared, account, logoutHref, accountHref, continueHref },
        consoleHref: console,
      }),
    optionsOf(loginContext),
  )
}

function isFactorMissing({ cx }: LoginContext, session: Present): boolean {
  const need = needFor(cx, session)
  const requirement = { need, since: session.authTime - 1, mustSignIn: false }
  return missingFrom(session, requirement, cx.clock.now())?.kind === "factor"
}

export type SignedInHrefs = {
  readonly logout: string
  readonly account?: string
  readonly console?: string | undefined
}

export const showSignedOut = (loginContext: LoginContext): Promise<Response> =>
  loginContext.show(
    loginContext.cx,
    (ui, shared) =>
      ui.SignedOutPage({
        ...{ ...shared, signInHref: loginPaths.entry },
        isNobodyHere: new URL(loginContext.request.url).searchParams.has("nobody"),
      }),
    optionsOf(loginContext),
  )

/** Only the name that was typed: more would tell who exists. Known people are shown in full. */
function shownAccount(loginContext: LoginContext, loginName: string): Account {
  const step = stepOf(loginContext)
  const known = step.kind === "password" ? accountOf(loginContext.cx, step.userId) : undefined
  return known?.loginName === loginName ? known : { displayName: loginName, loginName }
}

function loginNamePage(
  loginContext: LoginContext,
  { loginName = "", problem, hasWrongKey = false, unknownKey }: LoginNameShown,
): Promise<Response> {
  const offered = offeredPasskey(loginContext)
  const providers = providersOf(loginContext)
  const form = targetOf(loginContext, loginPaths.loginName)
  const application = applicationOf(loginContext)
  const createHref = registerHref(loginContext)
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => {
      const error = problem && shared.t(`login_name.error.${problem}`)
      const wrong = hasWrongKey ? shared.t("passkey.error.unknown") : undefined
      const passkey = offered && { ...offered, error: wrong, unknownKey }
      const notice = noticeFor(loginContext, shared)
      const asked = { application, error, loginName, form, passkey, providers, createHref, notice }
      return ui.LoginNamePage({ ...shared, ...asked })
    },
    optionsOf(loginContext, problem || hasWrongKey ? 422 : 200),
  )
}

/** What to tell who came for a new account (prompt=create) where nobody may make one. */
function noticeFor({ cx, waiting }: LoginContext, { t }: Pick<PageProps, "t">): string | undefined {
  if (!waiting?.asked.prompts.includes("create")) return undefined
  return registrationHome(cx, waiting.asked.home) === undefined ? t("register.closed") : undefined
}

type PasswordProblem =
  | { readonly key: `password.error.${"missing" | "wrong" | "busy" | "passkey"}` }
  | { readonly key: "password.error.too_many_tries"; readonly retryAfterSeconds: number }

function passwordPage(
  loginContext: LoginContext,
  account: Account,
  { problem, isSetup = problem !== undefined }: Omit<PasswordShown, "loginName"> = {},
): Promise<Response> {
  const form = targetOf(loginContext, loginPaths.password)
  const changeHref = hrefOf(loginContext, loginPaths.loginName)
  const forgot = forgotHref(loginContext, account.loginName)
  const isAsking = hasToAsk(loginContext)
  const linkForm = mayAskLink(loginContext)
    ? targetOf(loginContext, loginPaths.magicLink)
    : undefined
  const application = applicationOf(loginContext)
  const known = knownUser(loginContext, account)
  const hasPasswords = passwordsOf(loginContext, account.loginName, known)
  const offered = hasPasswords || isSetup ? undefined : offeredPasskey(loginContext)
  const setupHref =
    hasPasswords || isSetup
      ? undefined
      : passwords.href(loginContext, { loginName: account.loginName, isSetup: true })
  // A provider that has just answered would only answer the same once more.
  const isLocal = known !== undefined && isLocalOnly(loginContext)
  const providers = known === undefined || isLocal ? [] : linkedProvidersOf(loginContext, known)
  const seconds = problem && "retryAfterSeconds" in problem ? problem.retryAfterSeconds : 0
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => {
      const error = problem && shared.t(problem.key, { minutes: Math.ceil(seconds / 60) })
      const asked = { application, error, account, changeHref, form, linkForm, providers, isAsking }
      return ui.PasswordPage({
        ...{ ...shared, ...asked, isSetup: isSetup && !hasPasswords },
        forgotHref: setupHref ? undefined : forgot,
        instead: setupHref ? { passkey: offered, setupHref } : undefined,
      })
    },
    {
      ...optionsOf(loginContext, statusOf(problem), known),
      retryAfterSeconds: seconds,
    },
  )
}

/**
 * Whether passwords sign in, for who is known, and else for the organization that the name, or the
 * page, belongs to: the user's own would tell who is here.
 */
function passwordsOf(
  { cx, waiting }: LoginContext,
  loginName: string,
  userId: string | undefined,
): boolean {
  const policy = userId
    ? policyFor(cx, { userId, orgId: homeOf(cx, userId) }, login)
    : policyOf(cx, orgNamedIn(cx, loginName) ?? pagesOf(cx, waiting?.asked.home)?.id ?? "", login)
  return policy.allowUsernamePassword
}

/** Who is asked for the password again, and was here before; whose name was typed is nobody yet. */
function knownUser(loginContext: LoginContext, { loginName }: Account): string | undefined {
  const step = stepOf(loginContext)
  const isMeant =
    step.kind === "password" && accountOf(loginContext.cx, step.userId).loginName === loginName
  return isMeant ? step.userId : undefined
}

/** Whether a factor of ours is missing, since a provider has not signed the user in again. */
function isLocalOnly(loginContext: LoginContext): boolean {
  const step = stepOf(loginContext)
  return step.kind === "password" && step.isLocal === true
}

/** RFC 6585 §4 for who tries too often; a field that must be filled in otherwise for the rest. */
function statusOf(problem: PasswordProblem | undefined): number {
  if (problem === undefined) return 200
  return "retryAfterSeconds" in problem ? 429 : 422
}

/** What keeps a person out whose password is right is said to them, and to nobody else. */
function refused(
  loginContext: LoginContext,
  loginName: string,
  result: Exclude<SignedIn, { kind: "in" }>,
): Promise<Response> | Response {
  const again = (problem: PasswordProblem) => passwords.next(loginContext, { loginName, problem })
  if (result.kind === "too many") {
    const { retryAfterSeconds } = result
    return again({ key: "password.error.too_many_tries", retryAfterSeconds })
  }
  if (result.kind === "wrong") return again({ key: "password.error.wrong" })
  if (result.kind === "busy") return again({ key: "password.error.busy" })
  if (result.kind === "passkey required") return again({ key: "password.error.passkey" })
  if (result.kind === "change required") {
    return changes.next(loginContext, { proof: result.proof })
  }
  return trouble(loginContext, {
    problem: "not_allowed",
    status: 403,
    reason: reasons[result.kind],
  })
}

const reasons = {
  locked: "error.not_allowed.locked",
  inactive: "error.not_allowed.inactive",
} as const
