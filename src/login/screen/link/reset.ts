import type { Linked } from "../../../../ui/login/index.ts"
import { resetPasswordFor, setPassword } from "../../../domain/credential/index.ts"
import { homeOf } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import { hrefOf, type LoginContext, optionsOf, type Screen } from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { notesFor } from "../../note.ts"
import { askLink, checkLink, linkedIn, linkPasswordPage, refuseLink } from "../../part/link.ts"
import { type NewPasswordProblem, newPasswordIn } from "../../part/new-password.ts"
import { loginPaths, withRequest } from "../../path.ts"
import { waitingRequest } from "../../request.ts"

const kind = "reset"

/** Whom a right code lets choose a password, and what was wrong with the one they chose. */
type Choice = { readonly linked: Linked; readonly problem?: NewPasswordProblem }

const choices = notesFor<Choice>(loginPaths.passwordNew)

/** GET: asks for the password; without a right code, that happens on the first page. */
function askNewPassword(loginContext: LoginContext): Promise<Response> | Response {
  const choice = choices.of(loginContext)
  if (!choice) return goTo(hrefOf(loginContext, loginPaths.loginName))
  return passwordPage(loginContext, choice.linked, choice.problem)
}

/** The code was shown; only now is it said whose password it is. */
async function takeReset(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const linked = linkedIn(fields)
  const result = await checkLink(loginContext.cx, kind, linked)
  return result === "ok"
    ? choices.next(loginContext, { linked })
    : refuseLink(loginContext, { kind, linked }, result)
}

/**
 * The new password was chosen: it counts at once, and everywhere. Whoever has shown the code signs
 * in with it as everybody does, for a code is no second factor.
 */
async function takeNewPassword(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx, browserContext } = loginContext
  const linked = linkedIn(fields)
  const { userId, code, key } = linked
  const result = await checkLink(cx, kind, linked)
  if (result !== "ok") return refuseLink(loginContext, { kind, linked }, result)
  try {
    const password = await newPasswordIn(fields, (plain) =>
      resetPasswordFor(cx, userId, { code, key, plain }),
    )
    if ("key" in password) return choices.next(loginContext, { linked, problem: password })
    await setPassword(cx, userId, password)
  } catch (cause) {
    // Somebody else with the same code was faster, or it has ended meanwhile.
    if (!(cause instanceof Fault) || cause.id !== "user.code_wrong") throw cause
    return refuseLink(loginContext, { kind, linked }, "wrong")
  }
  const waiting = waitingRequest(cx, browserContext, linked.request)
  return goTo(withRequest(loginPaths.passwordDone, waiting?.id ?? ""))
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
  const asked = {
    ...({ page: kind, linked, action: loginPaths.passwordNew } as const),
    orgId: homeOf(loginContext.cx, linked.userId),
    words: (t: Parameters<Parameters<typeof linkPasswordPage>[1]["words"]>[0]) => ({
      title: t("password_change.title"),
      lead: t("reset.password.lead"),
      submit: t("reset.submit"),
    }),
  }
  return linkPasswordPage(loginContext, asked, problem)
}

export const resetScreen: Screen = {
  path: loginPaths.passwordSet,
  get: (loginContext) => askLink(loginContext, kind),
  post: takeReset,
}

export const newPasswordScreen: Screen = {
  path: loginPaths.passwordNew,
  get: askNewPassword,
  post: takeNewPassword,
}

export const passwordDoneScreen: Screen = { path: loginPaths.passwordDone, get: showPasswordDone }
