import type { Invited } from "../../ui/login/index.ts"
import {
  acceptInvite,
  type CodeCheck,
  checkCode,
  complexityFor,
  invitationOf,
  invitedPassword,
} from "../domain/user/index.ts"
import { Fault } from "../kernel/fault.ts"
import type { Cx } from "../store/index.ts"
import { completeSignIn } from "./complete-sign-in.ts"
import { accountOf, type LoginContext, optionsOf, targetOf, trouble } from "./context.ts"
import type { Fields } from "./form.ts"
import { type NewPasswordProblem, newPasswordIn } from "./password-change.ts"
import { loginPaths } from "./path.ts"

/**
 * GET of the link that somebody was given. It looks at no code and uses none up: what scans mails
 * opens their links, too. The code best stands behind its #, where no log on the way sees it.
 */
export function askInvite(loginContext: LoginContext): Promise<Response> {
  const { searchParams } = new URL(loginContext.request.url)
  const invited = invitedIn({ get: (name) => searchParams.get(name) ?? "" })
  if (searchParams.get("invite") !== "true" || invited.userId === "") {
    return trouble(loginContext, { problem: "not_found", status: 404 })
  }
  return invitePage(loginContext, invited)
}

/** The code was shown; only now is it said who is invited, and by whom. */
export async function takeInvite(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const invited = invitedIn(fields)
  const result = await checked(loginContext.cx, invited)
  return result === "ok"
    ? passwordPage(loginContext, invited)
    : refused(loginContext, invited, result)
}

/** The password was chosen: with it the code is used up and the person signed in, in one step. */
export async function takeInvitePassword(
  loginContext: LoginContext,
  fields: Fields,
): Promise<Response> {
  const { cx } = loginContext
  const invited = invitedIn(fields)
  const result = await checked(cx, invited)
  if (result !== "ok") return refused(loginContext, invited, result)
  const { userId, code } = invited
  const password = await newPasswordIn(fields, (plain) => invitedPassword(cx, userId, plain))
  if ("key" in password) return passwordPage(loginContext, invited, password)
  return completeSignIn<never>(loginContext, {
    userId,
    first: (tx) => void acceptInvite(tx, userId, { code, password }),
  })
}

const invitedIn = (fields: Fields): Invited => ({
  userId: fields.get("userId"),
  code: fields.get("code").trim(),
  organization: fields.get("organization"),
})

type Refusal = Exclude<CodeCheck, "ok"> | "missing" | { readonly retryAfterSeconds: number }

/** Guesses are counted of the account, and of the address that they come from. */
async function checked(cx: Cx, { userId, code }: Invited): Promise<"ok" | Refusal> {
  if (code === "") return "missing"
  try {
    cx.allowance?.spend("guess")
    const result = await checkCode(cx, userId, { of: "invite", given: code })
    if (result !== "wrong") cx.allowance?.refund("guess")
    return result
  } catch (cause) {
    const { retryAfterSeconds } = cause instanceof Fault ? cause : {}
    if (retryAfterSeconds !== undefined) return { retryAfterSeconds }
    throw cause
  }
}

function refused(loginContext: LoginContext, invited: Invited, result: Refusal): Promise<Response> {
  if (result === "locked" || result === "inactive") {
    const reason = `error.not_allowed.${result}` as const
    return trouble(loginContext, { problem: "not_allowed", status: 403, reason })
  }
  return invitePage(loginContext, invited, result)
}

function invitePage(
  loginContext: LoginContext,
  invited: Invited,
  problem?: "wrong" | "missing" | { readonly retryAfterSeconds: number },
): Promise<Response> {
  const form = targetOf(loginContext, loginPaths.invite)
  const seconds = typeof problem === "object" ? problem.retryAfterSeconds : 0
  const isWrong = problem === "wrong"
  const status = seconds ? 429 : 422
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => {
      const minutes = Math.ceil(seconds / 60)
      const busy = seconds ? shared.t("password.error.too_many_tries", { minutes }) : undefined
      const error = typeof problem === "string" ? shared.t(`invite.error.${problem}`) : busy
      const signInHref = loginPaths.entry
      return ui.InvitePage({ ...shared, form, invited, error, isWrong, signInHref })
    },
    {
      ...optionsOf(loginContext, problem ? status : 200),
      orgId: invited.organization || undefined,
      retryAfterSeconds: seconds,
    },
  )
}

function passwordPage(
  loginContext: LoginContext,
  invited: Invited,
  problem?: NewPasswordProblem,
): Promise<Response> {
  const form = targetOf(loginContext, loginPaths.invitePassword)
  const account = accountOf(loginContext.cx, invited.userId)
  const { orgId, organization, applicationName } = invitationOf(loginContext.cx, invited.userId)
  const rules = complexityFor(loginContext.cx, invited.userId)
  const told = { invited, account, organization, application: applicationName, rules }
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => {
      const errors = problem && {
        [problem.at]: shared.t(problem.key, { rules: ui.rulesIn(shared.t, rules) }),
      }
      return ui.InvitePasswordPage({ ...shared, ...told, form, errors })
    },
    { ...optionsOf(loginContext, problem ? 422 : 200), orgId },
  )
}
