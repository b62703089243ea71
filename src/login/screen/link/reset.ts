import type { Linked } from "../../../../ui/login/index.ts"
import { prepareResetPassword, setPassword } from "../../../domain/credential/index.ts"
import { findHomeOrg } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import { hrefOf, type LoginContext, optionsOf, type Screen } from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { pageStateFor } from "../../page-state.ts"
import { checkLink, linkPasswordPage, parseLinked, rejectLink, showLink } from "../../part/link.ts"
import { type NewPasswordProblem, parseNewPassword } from "../../part/new-password.ts"
import { loginPaths, withRequest } from "../../path.ts"
import { findPendingRequest } from "../../request.ts"

const kind = "reset"

/** State of the page after a valid code: the password was rejected. */
type NewPasswordState = { readonly linked: Linked; readonly problem?: NewPasswordProblem }

const newPasswordState = pageStateFor<NewPasswordState>(loginPaths.passwordNew)

/** GET: asks for the new password; without a valid code, redirects to the first page. */
function showNewPassword(loginContext: LoginContext): Promise<Response> | Response {
  const choice = newPasswordState.of(loginContext)
  if (!choice) return redirectTo(hrefOf(loginContext, loginPaths.loginName))
  return passwordPage(loginContext, choice.linked, choice.problem)
}

/** POST: the code. Only a valid one reveals the account. */
async function postReset(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const linked = parseLinked(fields)
  const result = await checkLink(loginContext.cx, kind, linked)
  return result === "ok"
    ? newPasswordState.next(loginContext, { linked })
    : rejectLink(loginContext, { kind, linked }, result)
}

/**
 * POST: the new password. It is valid immediately. The user then signs in with it like everyone
 * else, because a code is no second factor.
 */
async function postNewPassword(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx, browserContext } = loginContext
  const linked = parseLinked(fields)
  const { userId, code, key } = linked
  const result = await checkLink(cx, kind, linked)
  if (result !== "ok") return rejectLink(loginContext, { kind, linked }, result)
  try {
    const password = await parseNewPassword(fields, (plain) =>
      prepareResetPassword(cx, userId, { code, key, plain }),
    )
    if ("key" in password) return newPasswordState.next(loginContext, { linked, problem: password })
    await setPassword(cx, userId, password)
  } catch (cause) {
    // Another user of the same code was faster, or the code has expired.
    if (!(cause instanceof Fault) || cause.id !== "user.code_wrong") throw cause
    return rejectLink(loginContext, { kind, linked }, "wrong")
  }
  const waiting = findPendingRequest(cx, browserContext, linked.request)
  return redirectTo(withRequest(loginPaths.passwordDone, waiting?.id ?? ""))
}

const showPasswordDone = (loginContext: LoginContext): Promise<Response> =>
  loginContext.show(
    loginContext.cx,
    (ui, shared) =>
      ui.DonePage({ ...shared, kind, signInHref: hrefOf(loginContext, loginPaths.loginName) }),
    optionsOf(loginContext),
  )

function passwordPage(
  loginContext: LoginContext,
  linked: Linked,
  problem?: NewPasswordProblem,
): Promise<Response> {
  const pageOptions = {
    ...({ page: kind, linked, action: loginPaths.passwordNew } as const),
    orgId: findHomeOrg(loginContext.cx, linked.userId),
    words: (t: Parameters<Parameters<typeof linkPasswordPage>[1]["words"]>[0]) => ({
      title: t("password_change.title"),
      lead: t("reset.password.lead"),
      submit: t("reset.submit"),
    }),
  }
  return linkPasswordPage(loginContext, pageOptions, problem)
}

export const resetScreen: Screen = {
  path: loginPaths.passwordSet,
  get: (loginContext) => showLink(loginContext, kind),
  post: postReset,
}

export const newPasswordScreen: Screen = {
  path: loginPaths.passwordNew,
  get: showNewPassword,
  post: postNewPassword,
}

export const passwordDoneScreen: Screen = { path: loginPaths.passwordDone, get: showPasswordDone }
