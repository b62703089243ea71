import { isUnknownNameDisclosed } from "../../../domain/user-lookup/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import {
  applicationOf,
  formTargetOf,
  type LoginContext,
  optionsOf,
  type Screen,
} from "../../context.ts"
import type { Fields } from "../../form.ts"
import { type LoginNameState, loginNameMax, loginNameState } from "../../part/login-name.ts"
import { offerPasskey } from "../../part/passkey.ts"
import { providerButtons } from "../../part/provider.ts"
import { registerHref, registrationNotice } from "../../part/registration.ts"
import { loginPaths } from "../../path.ts"
import { showProblem } from "../../problem.ts"
import { passwordState } from "./password-state.ts"

/** GET of the first page; a login_hint fills in the name. */
const showLoginName = (loginContext: LoginContext): Promise<Response> =>
  loginNamePage(loginContext, {
    loginName: loginContext.waiting?.loginHint ?? "",
    ...loginNameState.of(loginContext),
  })

/** POST: the login name. Reveals that it is unknown only if the policy allows it. */
function postLoginName(loginContext: LoginContext, fields: Fields): Promise<Response> | Response {
  const loginName = fields.get("loginName").trim()
  if (loginName === "" || loginName.length > loginNameMax) {
    return loginNameState.next(loginContext, {
      loginName: loginName.slice(0, loginNameMax),
      problem: "missing",
    })
  }
  const { cx, waiting } = loginContext
  if (!isUnknownNameDisclosed(cx, loginName, waiting?.asked.home)) {
    return passwordState.next(loginContext, { loginName })
  }
  // Limits attempts, because names can be guessed like passwords.
  try {
    cx.allowance?.spend("guess")
  } catch (cause) {
    const { retryAfterSeconds } = cause instanceof Fault ? cause : {}
    if (retryAfterSeconds === undefined) throw cause
    return showProblem(loginContext, { problem: "too_many_tries", status: 429, retryAfterSeconds })
  }
  return loginNameState.next(loginContext, { loginName, problem: "unknown" })
}

function loginNamePage(
  loginContext: LoginContext,
  { loginName = "", problem, hasWrongKey = false, unknownKey }: LoginNameState,
): Promise<Response> {
  const offered = offerPasskey(loginContext)
  const providers = providerButtons(loginContext)
  const form = formTargetOf(loginContext, loginPaths.loginName)
  const application = applicationOf(loginContext)
  const createHref = registerHref(loginContext)
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => {
      const error = problem && shared.t(`login_name.error.${problem}`)
      const wrong = hasWrongKey ? shared.t("passkey.error.unknown") : undefined
      const passkey = offered && { ...offered, error: wrong, unknownKey }
      const notice = registrationNotice(loginContext, shared)
      const pageProps = {
        application,
        error,
        loginName,
        form,
        passkey,
        providers,
        createHref,
        notice,
      }
      return ui.LoginNamePage({ ...shared, ...pageProps })
    },
    optionsOf(loginContext, problem || hasWrongKey ? 422 : 200),
  )
}

export const loginNameScreen: Screen = {
  path: loginPaths.loginName,
  get: showLoginName,
  post: postLoginName,
}
