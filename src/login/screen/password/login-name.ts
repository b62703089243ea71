import { isUnknownName } from "../../../domain/user-lookup/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import {
  applicationOf,
  type LoginContext,
  optionsOf,
  type Screen,
  targetOf,
} from "../../context.ts"
import type { Fields } from "../../form.ts"
import { type LoginNameNote, loginNameMax, loginNames } from "../../part/login-name.ts"
import { offeredPasskey } from "../../part/passkey.ts"
import { providersOf } from "../../part/provider.ts"
import { registerHref, registrationNotice } from "../../part/registration.ts"
import { loginPaths } from "../../path.ts"
import { trouble } from "../../trouble.ts"
import { passwords } from "./password-note.ts"

/** GET of the first page; a login_hint fills it in. */
const askLoginName = (loginContext: LoginContext): Promise<Response> =>
  loginNamePage(loginContext, {
    loginName: loginContext.waiting?.loginHint ?? "",
    ...loginNames.of(loginContext),
  })

/** The login name was given; only where the policy lets it is said here that it is nobody's. */
function takeLoginName(loginContext: LoginContext, fields: Fields): Promise<Response> | Response {
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

function loginNamePage(
  loginContext: LoginContext,
  { loginName = "", problem, hasWrongKey = false, unknownKey }: LoginNameNote,
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
      const notice = registrationNotice(loginContext, shared)
      const asked = { application, error, loginName, form, passkey, providers, createHref, notice }
      return ui.LoginNamePage({ ...shared, ...asked })
    },
    optionsOf(loginContext, problem || hasWrongKey ? 422 : 200),
  )
}

export const loginNameScreen: Screen = {
  path: loginPaths.loginName,
  get: askLoginName,
  post: takeLoginName,
}
