import type { Account } from "../../../../ui/login/index.ts"
import { requirementsOfApp } from "../../../domain/app-access/index.ts"
import { type Admit, passwordOf, provePassword } from "../../../domain/credential/index.ts"
import { login, policyFor, policyOf } from "../../../domain/policy/index.ts"
import { deviceOf, hindranceOf } from "../../../domain/session/index.ts"
import { accountOf as accountNamed, orgNamedIn } from "../../../domain/user-lookup/index.ts"
import { homeOf, user } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import {
  accountOf,
  applicationOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
  stepOf,
  targetOf,
} from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { pagesOf } from "../../page.ts"
import { forgotHref, hasToAsk, mayAskLink } from "../../part/by-mail.ts"
import { loginNameMax } from "../../part/login-name.ts"
import { offeredPasskey } from "../../part/passkey.ts"
import { linkedProvidersOf } from "../../part/provider.ts"
import { loginPaths } from "../../path.ts"
import { trouble } from "../../trouble.ts"
import { changes, writeProof } from "./change.ts"
import { expiryHref } from "./expiry.ts"
import { type PasswordNote, type PasswordProblem, passwords } from "./password-note.ts"

/** GET of the password page: for a name that was typed here, or a person that the flow knows. */
function askPassword(loginContext: LoginContext): Promise<Response> | Response {
  const note = passwords.of(loginContext)
  if (note) {
    return passwordPage(loginContext, shownAccount(loginContext, note.loginName), note)
  }
  const step = stepOf(loginContext)
  if (step.kind !== "password") return goTo(hrefOf(loginContext, loginPaths.loginName))
  return passwordPage(loginContext, accountOf(loginContext.cx, step.userId))
}

/** The password was given. */
async function takePassword(loginContext: LoginContext, fields: Fields): Promise<Response> {
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

/** How a password ended. */
type PasswordResult =
  | { readonly kind: "in"; readonly answer: Response }
  | { readonly kind: "wrong" | "busy" | "passkey required" }
  | { readonly kind: "change required"; readonly userId: string; readonly proof: string }
  | { readonly kind: "too many"; readonly retryAfterSeconds: number }
  | { readonly kind: "locked" | "inactive" }

/**
 * Checks a password and signs in to this browser. A login name that is nobody's makes the same
 * work, waits as long, and is answered as a wrong password is. A full queue of the hasher, and
 * tries too many, are the person's to see: they can try again.
 */
async function signInWith(
  loginContext: LoginContext,
  loginName: string,
  password: string,
): Promise<PasswordResult> {
  const { cx, browserContext } = loginContext
  const account = accountNamed(cx, loginName)
  const tried = { account, plain: password, device: deviceOf(cx, browserContext, account) }
  try {
    cx.allowance?.spend("guess")
    const way = await provePassword(cx, tried, (admit) => letIn(loginContext, account, admit))
    if (typeof way === "string") return { kind: "wrong" }
    if (way.kind !== "wrong") cx.allowance?.refund("guess")
    return way
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    const { code, retryAfterSeconds } = cause
    if (retryAfterSeconds !== undefined) return { kind: "too many", retryAfterSeconds }
    if (code === "resource_exhausted") return { kind: "busy" }
    if (code === "invalid_argument") return { kind: "wrong" }
    throw cause
  }
}

/** What a right password leads to, in one step. */
async function letIn(
  loginContext: LoginContext,
  account: string,
  admit: Admit,
): Promise<PasswordResult> {
  let warning: string | undefined
  const entered = await completeSignIn<PasswordRefusal>(loginContext, {
    userId: account,
    first: (tx) => {
      const refusal = refusalOf(tx, loginContext, { account, admit })
      warning = refusal ? undefined : expiryHref(tx, loginContext, account)
      return refusal
    },
    stopAt: () => warning,
    method: "password",
  })
  return entered instanceof Response ? { kind: "in", answer: entered } : entered
}

type PasswordRefusal = Exclude<PasswordResult, { kind: "in" }>

/** What keeps the person out whose password is right. */
function refusalOf(
  tx: Transaction,
  { cx, browserContext }: LoginContext,
  { account, admit }: { readonly account: string; readonly admit: Admit },
): PasswordRefusal | undefined {
  const hindrance = hindranceOf(tx, account, admit)
  if (hindrance !== "change required") return hindrance && { kind: hindrance }
  const { version = 0 } = passwordOf(tx.state(user, account)) ?? {}
  const proof = writeProof(cx, browserContext, { userId: account, version })
  return { kind: "change required", userId: account, proof }
}

/** Only the name that was typed: more would tell who exists. Known people are shown in full. */
function shownAccount(loginContext: LoginContext, loginName: string): Account {
  const step = stepOf(loginContext)
  const known = step.kind === "password" ? accountOf(loginContext.cx, step.userId) : undefined
  return known?.loginName === loginName ? known : { displayName: loginName, loginName }
}

/** Whether the application limits how old a sign-in can be. */
const isAgeLimited = ({ cx, waiting }: LoginContext): boolean =>
  waiting !== undefined && requirementsOfApp(cx, waiting.asked.appId).maxAge !== undefined

function passwordPage(
  loginContext: LoginContext,
  account: Account,
  { problem, isSetup = problem !== undefined }: Omit<PasswordNote, "loginName"> = {},
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
  const isRecentRequired = known !== undefined && isAgeLimited(loginContext)
  const seconds = problem && "retryAfterSeconds" in problem ? problem.retryAfterSeconds : 0
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => {
      const error = problem && shared.t(problem.key, { minutes: Math.ceil(seconds / 60) })
      const shown = { account, changeHref, form, linkForm, providers, isAsking, isRecentRequired }
      const asked = { application, error, ...shown }
      return ui.PasswordPage({
        ...shared,
        ...asked,
        isSetup: isSetup && !hasPasswords,
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
  result: Exclude<PasswordResult, { kind: "in" }>,
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

export const passwordScreen: Screen = {
  path: loginPaths.password,
  get: askPassword,
  post: takePassword,
}
