import type { Linked } from "../../../ui/login/index.ts"
import { acceptInvite, invitationOf, invitedPassword } from "../../domain/user/index.ts"
import { completeSignIn } from "../complete-sign-in.ts"
import { hrefOf, type LoginContext } from "../context.ts"
import { doneHref } from "../entered/done.ts"
import { type Fields, goTo } from "../form.ts"
import { notesFor } from "../note.ts"
import { type NewPasswordProblem, newPasswordIn } from "../password/change.ts"
import { loginPaths } from "../path.ts"
import { checkLink, linkedIn, linkPasswordPage, refuseLink } from "./link.ts"

const kind = "invite"

/** Whom a right code lets choose a password, and what was wrong with the one they chose. */
type Choice = { readonly linked: Linked; readonly problem?: NewPasswordProblem }

const choices = notesFor<Choice>(loginPaths.invitePassword)

/** GET: asks for the password; without a right code, that happens on the first page. */
export function askInvitePassword(loginContext: LoginContext): Promise<Response> | Response {
  const choice = choices.of(loginContext)
  if (!choice) return goTo(hrefOf(loginContext, loginPaths.loginName))
  return passwordPage(loginContext, choice.linked, choice.problem)
}

/** The code was shown; only now is it said who is invited, and by whom. */
export async function takeInvite(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const linked = linkedIn(fields)
  const result = await checkLink(loginContext.cx, kind, linked)
  return result === "ok"
    ? choices.next(loginContext, { linked })
    : refuseLink(loginContext, { kind, linked }, result)
}

/** The password was chosen: with it the code is used up and the person signed in, in one step. */
export async function takeInvitePassword(
  loginContext: LoginContext,
  fields: Fields,
): Promise<Response> {
  const { cx } = loginContext
  const linked = linkedIn(fields)
  const result = await checkLink(cx, kind, linked)
  if (result !== "ok") return refuseLink(loginContext, { kind, linked }, result)
  const { userId, code } = linked
  const password = await newPasswordIn(fields, (plain) => invitedPassword(cx, userId, plain))
  if ("key" in password) return choices.next(loginContext, { linked, problem: password })
  return completeSignIn<never>(loginContext, {
    userId,
    first: (tx) => void acceptInvite(tx, userId, { code, password }),
    stopAt: () => doneHref(loginContext, kind, userId),
    method: "password",
  })
}

function passwordPage(
  loginContext: LoginContext,
  linked: Linked,
  problem?: NewPasswordProblem,
): Promise<Response> {
  const invitation = invitationOf(loginContext.cx, linked.userId)
  const { orgId, organization, applicationName: application } = invitation
  const asked = {
    ...({ page: kind, linked, orgId, action: loginPaths.invitePassword } as const),
    words: (t: Parameters<Parameters<typeof linkPasswordPage>[1]["words"]>[0]) => ({
      title: t("invite.password.title"),
      lead: application
        ? t("invite.password.lead_application", { organization, application })
        : t("invite.password.lead", { organization }),
      submit: t("password_change.submit"),
    }),
  }
  return linkPasswordPage(loginContext, asked, problem)
}
