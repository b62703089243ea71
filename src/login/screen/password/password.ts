import type { Account } from "../../../../ui/login/index.ts"
import { requirementsOfApp } from "../../../domain/app-access/index.ts"
import {
  authenticateWithPassword,
  type PasswordDecision,
  passwordOf,
} from "../../../domain/credential/index.ts"
import { login, policyFor, policyOf } from "../../../domain/policy/index.ts"
import { findDeviceId, findSignInObstacle } from "../../../domain/session/index.ts"
import { accountOf as accountNamed, findOrgOfName } from "../../../domain/user-lookup/index.ts"
import { findHomeOrg, user } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import {
  accountOf,
  applicationOf,
  formTargetOf,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
  stepOf,
} from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { pageOrgOf } from "../../page.ts"
import { forgotHref, needsAdministrator, offersLink } from "../../part/by-email.ts"
import { loginNameMax } from "../../part/login-name.ts"
import { offerPasskey } from "../../part/passkey.ts"
import { linkedProviderButtons } from "../../part/provider.ts"
import { loginPaths } from "../../path.ts"
import { showProblem } from "../../problem.ts"
import { passwordChangeState, sealProof } from "./change.ts"
import { expiryHref } from "./expiry.ts"
import { type PasswordProblem, type PasswordState, passwordState } from "./password-state.ts"

/**
 * GET of the password page, for a login name that was entered or a user that the flow has
 * determined.
 */
function showPassword(loginContext: LoginContext): Promise<Response> | Response {
  const state = passwordState.of(loginContext)
  if (state) {
    return passwordPage(loginContext, enteredAccount(loginContext, state.loginName), state)
  }
  const step = stepOf(loginContext)
  if (step.kind !== "password") return redirectTo(hrefOf(loginContext, loginPaths.loginName))
  return passwordPage(loginContext, accountOf(loginContext.cx, step.userId))
}

/** POST: the password. */
async function postPassword(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const loginName = fields.get("loginName").trim()
  const password = fields.get("password")
  if (loginName === "" || loginName.length > loginNameMax) {
    return redirectTo(hrefOf(loginContext, loginPaths.loginName))
  }
  if (password === "") {
    return passwordState.next(loginContext, {
      loginName,
      problem: { key: "password.error.missing" },
    })
  }
  const result = await signInWith(loginContext, loginName, password)
  if (result.kind === "in") return result.answer
  return rejectPassword(loginContext, loginName, result)
}

/** The result of a password sign-in. */
type PasswordResult =
  | { readonly kind: "in"; readonly answer: Response }
  | { readonly kind: "wrong" | "busy" | "passkey required" }
  | { readonly kind: "change required"; readonly userId: string; readonly proof: string }
  | { readonly kind: "too many"; readonly retryAfterSeconds: number }
  | { readonly kind: "locked" | "inactive" }

/**
 * Checks a password and signs in to this browser. An unknown login name causes the same work, takes
 * the same time and has the same response as a wrong password. A full hashing queue and too many
 * attempts are shown to the user, who can retry.
 */
async function signInWith(
  loginContext: LoginContext,
  loginName: string,
  password: string,
): Promise<PasswordResult> {
  const { cx, browserContext } = loginContext
  const account = accountNamed(cx, loginName)
  const tried = { account, plain: password, device: findDeviceId(cx, browserContext, account) }
  try {
    cx.allowance?.spend("guess")
    const outcome = await authenticateWithPassword(cx, tried, (admit) =>
      signInTransaction(loginContext, account, admit),
    )
    if (typeof outcome === "string") return { kind: "wrong" }
    if (outcome.kind !== "wrong") cx.allowance?.refund("guess")
    return outcome
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    const { code, retryAfterSeconds } = cause
    if (retryAfterSeconds !== undefined) return { kind: "too many", retryAfterSeconds }
    if (code === "resource_exhausted") return { kind: "busy" }
    if (code === "invalid_argument") return { kind: "wrong" }
    throw cause
  }
}

/** Signs in with a correct password, in one transaction. */
async function signInTransaction(
  loginContext: LoginContext,
  account: string,
  admit: PasswordDecision,
): Promise<PasswordResult> {
  let warning: string | undefined
  const entered = await completeSignIn<PasswordFailure>(loginContext, {
    userId: account,
    first: (tx) => {
      const refusal = findPasswordFailure(tx, loginContext, { account, admit })
      warning = refusal ? undefined : expiryHref(tx, loginContext, account)
      return refusal
    },
    stopAt: () => warning,
    method: "password",
  })
  return entered instanceof Response ? { kind: "in", answer: entered } : entered
}

type PasswordFailure = Exclude<PasswordResult, { kind: "in" }>

/** Why a user with a correct password can't sign in; undefined if they can. */
function findPasswordFailure(
  tx: Transaction,
  { cx, browserContext }: LoginContext,
  { account, admit }: { readonly account: string; readonly admit: PasswordDecision },
): PasswordFailure | undefined {
  const obstacle = findSignInObstacle(tx, account, admit)
  if (obstacle !== "change required") return obstacle && { kind: obstacle }
  const { version = 0 } = passwordOf(tx.state(user, account)) ?? {}
  const proof = sealProof(cx, browserContext, { userId: account, version })
  return { kind: "change required", userId: account, proof }
}

/**
 * The account with the entered name only: more would reveal whether it exists. Known users are
 * shown in full.
 */
function enteredAccount(loginContext: LoginContext, loginName: string): Account {
  const step = stepOf(loginContext)
  const knownAccount =
    step.kind === "password" ? accountOf(loginContext.cx, step.userId) : undefined
  return knownAccount?.loginName === loginName
    ? knownAccount
    : { displayName: loginName, loginName }
}

/** Whether the application limits the age of a sign-in. */
const isAgeLimited = ({ cx, waiting }: LoginContext): boolean =>
  waiting !== undefined && requirementsOfApp(cx, waiting.asked.appId).maxAge !== undefined

function passwordPage(
  loginContext: LoginContext,
  account: Account,
  { problem, isSetup = problem !== undefined }: Omit<PasswordState, "loginName"> = {},
): Promise<Response> {
  const form = formTargetOf(loginContext, loginPaths.password)
  const changeHref = hrefOf(loginContext, loginPaths.loginName)
  const forgot = forgotHref(loginContext, account.loginName)
  const isAsking = needsAdministrator(loginContext)
  const linkForm = offersLink(loginContext)
    ? formTargetOf(loginContext, loginPaths.magicLink)
    : undefined
  const application = applicationOf(loginContext)
  const knownAccount = findKnownUser(loginContext, account)
  const hasPasswords = allowsPasswords(loginContext, account.loginName, knownAccount)
  const offered = hasPasswords || isSetup ? undefined : offerPasskey(loginContext)
  const setupHref =
    hasPasswords || isSetup
      ? undefined
      : passwordState.href(loginContext, { loginName: account.loginName, isSetup: true })
  // A provider that has just responded would only respond the same again.
  const isLocal = knownAccount !== undefined && isLocalOnly(loginContext)
  const providers =
    knownAccount === undefined || isLocal ? [] : linkedProviderButtons(loginContext, knownAccount)
  const isRecentRequired = knownAccount !== undefined && isAgeLimited(loginContext)
  const seconds = problem && "retryAfterSeconds" in problem ? problem.retryAfterSeconds : 0
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => {
      const error = problem && shared.t(problem.key, { minutes: Math.ceil(seconds / 60) })
      const pageProps = {
        application,
        error,
        account,
        changeHref,
        form,
        linkForm,
        providers,
        needsAdministrator: isAsking,
        isRecentRequired,
      }
      return ui.PasswordPage({
        ...shared,
        ...pageProps,
        isSetup: isSetup && !hasPasswords,
        forgotHref: setupHref ? undefined : forgot,
        alternatives: setupHref ? { passkey: offered, setupHref } : undefined,
      })
    },
    {
      ...optionsOf(loginContext, statusOf(problem), knownAccount),
      retryAfterSeconds: seconds,
    },
  )
}

/**
 * Whether password sign-in is allowed: by the policy of a known user, otherwise of the organization
 * of the login name or the page. The policy of the user behind a login name would reveal whether
 * the account exists.
 */
function allowsPasswords(
  { cx, waiting }: LoginContext,
  loginName: string,
  userId: string | undefined,
): boolean {
  const policy = userId
    ? policyFor(cx, { userId, orgId: findHomeOrg(cx, userId) }, login)
    : policyOf(
        cx,
        findOrgOfName(cx, loginName) ?? pageOrgOf(cx, waiting?.asked.home)?.id ?? "",
        login,
      )
  return policy.allowUsernamePassword
}

/** The user who must enter the password again; undefined for a merely entered name. */
function findKnownUser(loginContext: LoginContext, { loginName }: Account): string | undefined {
  const step = stepOf(loginContext)
  const isMeant =
    step.kind === "password" && accountOf(loginContext.cx, step.userId).loginName === loginName
  return isMeant ? step.userId : undefined
}

/** Whether a local factor is required because a provider did not sign in the user again. */
function isLocalOnly(loginContext: LoginContext): boolean {
  const step = stepOf(loginContext)
  return step.kind === "password" && step.isLocal === true
}

/**
 * The HTTP status for a problem: RFC 6585 §4 for too many attempts, otherwise that of an invalid
 * form.
 */
function statusOf(problem: PasswordProblem | undefined): number {
  if (problem === undefined) return 200
  return "retryAfterSeconds" in problem ? 429 : 422
}

/**
 * The response to a failed password sign-in. Problems of the account are revealed only after a
 * correct password.
 */
function rejectPassword(
  loginContext: LoginContext,
  loginName: string,
  result: Exclude<PasswordResult, { kind: "in" }>,
): Promise<Response> | Response {
  const again = (problem: PasswordProblem) =>
    passwordState.next(loginContext, { loginName, problem })
  if (result.kind === "too many") {
    const { retryAfterSeconds } = result
    return again({ key: "password.error.too_many_tries", retryAfterSeconds })
  }
  if (result.kind === "wrong") return again({ key: "password.error.wrong" })
  if (result.kind === "busy") return again({ key: "password.error.busy" })
  if (result.kind === "passkey required") return again({ key: "password.error.passkey" })
  if (result.kind === "change required") {
    return passwordChangeState.next(loginContext, { proof: result.proof })
  }
  return showProblem(loginContext, {
    problem: "not_allowed",
    status: 403,
    reason: obstacleReasons[result.kind],
  })
}

const obstacleReasons = {
  locked: "error.not_allowed.locked",
  inactive: "error.not_allowed.inactive",
} as const

export const passwordScreen: Screen = {
  path: loginPaths.password,
  get: showPassword,
  post: postPassword,
}
