import { requestPublicReset } from "../../../domain/credential/index.ts"
import { accountOf } from "../../../domain/user-lookup/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import { formTargetOf, hrefOf, type LoginContext, optionsOf, type Screen } from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { type ForgottenProblem, forgotPasswordState, isResetHidden } from "../../part/by-email.ts"
import { loginPaths } from "../../path.ts"

const nameMax = 200

/** GET: asks for the login name. */
function showForgot(loginContext: LoginContext): Promise<Response> | Response {
  if (isResetHidden(loginContext)) return redirectTo(hrefOf(loginContext, loginPaths.loginName))
  const { loginName = "", problem } = forgotPasswordState.of(loginContext) ?? {}
  return forgotPage(loginContext, loginName, problem)
}

/**
 * POST: requests a link. The next page is always the same, so that it does not reveal whether the
 * account exists.
 */
async function postForgot(loginContext: LoginContext, fields: Fields): Promise<Response> {
  if (isResetHidden(loginContext)) return redirectTo(hrefOf(loginContext, loginPaths.loginName))
  const loginName = fields.get("loginName").trim()
  if (loginName === "" || loginName.length > nameMax) {
    const problem = { isMissing: true } as const
    return forgotPasswordState.next(loginContext, {
      loginName: loginName.slice(0, nameMax),
      problem,
    })
  }
  try {
    const { cx, waiting } = loginContext
    const account = accountOf(cx, loginName)
    await requestPublicReset(cx, { account }, waiting && { requestId: waiting.id })
  } catch (cause) {
    const { retryAfterSeconds } = cause instanceof Fault ? cause : {}
    if (retryAfterSeconds === undefined) throw cause
    return forgotPasswordState.next(loginContext, { loginName, problem: { retryAfterSeconds } })
  }
  return redirectTo(hrefOf(loginContext, loginPaths.forgotSent))
}

const showForgotSent = (loginContext: LoginContext): Promise<Response> =>
  loginContext.show(
    loginContext.cx,
    (ui, shared) =>
      ui.ForgotSentPage({ ...shared, backHref: hrefOf(loginContext, loginPaths.loginName) }),
    optionsOf(loginContext),
  )

function forgotPage(
  loginContext: LoginContext,
  loginName: string,
  problem?: ForgottenProblem,
): Promise<Response> {
  const form = formTargetOf(loginContext, loginPaths.forgot)
  const backHref = hrefOf(loginContext, loginPaths.loginName)
  const seconds = problem && "retryAfterSeconds" in problem ? problem.retryAfterSeconds : 0
  const status = seconds ? 429 : 422
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => {
      const minutes = Math.ceil(seconds / 60)
      const busy = seconds ? shared.t("password.error.too_many_tries", { minutes }) : undefined
      const error = problem && (busy ?? shared.t("login_name.error.missing"))
      return ui.ForgotPage({ ...shared, form, loginName, error, backHref })
    },
    { ...optionsOf(loginContext, problem ? status : 200), retryAfterSeconds: seconds },
  )
}

export const forgotScreen: Screen = { path: loginPaths.forgot, get: showForgot, post: postForgot }

export const forgotSentScreen: Screen = { path: loginPaths.forgotSent, get: showForgotSent }
