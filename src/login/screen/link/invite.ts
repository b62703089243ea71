import type { FirstPasskey, Linked } from "../../../../ui/login/index.ts"
import { hasKeys } from "../../../domain/factor/index.ts"
import { login, policyFor } from "../../../domain/policy/index.ts"
import {
  acceptInvite,
  type FirstCredential,
  invitationOf,
  invitedKey,
  invitedPassword,
} from "../../../domain/registration/index.ts"
import { homeOf } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import { hrefOf, type LoginContext, type Screen } from "../../context.ts"
import { type Fields, goTo } from "../../form.ts"
import { notesFor } from "../../note.ts"
import { doneHref } from "../../part/done.ts"
import {
  firstCredentialIn,
  firstPasskey,
  keyProblem,
  proofOf,
} from "../../part/first-credential.ts"
import {
  type ChoiceProblem,
  checkLink,
  linkedIn,
  linkPasswordPage,
  refuseLink,
} from "../../part/link.ts"
import { loginPaths } from "../../path.ts"
import { askVerify } from "./verify.ts"

const kind = "invite"

/** Whom a right code lets choose how to sign in, and what was wrong with what they chose. */
type Choice = { readonly linked: Linked; readonly problem?: ChoiceProblem }

const choices = notesFor<Choice>(loginPaths.invitePassword)

/** GET: asks for a passkey or a password; without a right code, that happens on the first page. */
function askInvitePassword(loginContext: LoginContext): Promise<Response> | Response {
  const choice = choices.of(loginContext)
  if (!choice) return goTo(hrefOf(loginContext, loginPaths.loginName))
  return choicePage(loginContext, choice.linked, choice.problem)
}

/** The code was shown; only now is it said who is invited, and by whom. */
async function takeInvite(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const linked = linkedIn(fields)
  const result = await checkLink(loginContext.cx, kind, linked)
  return result === "ok"
    ? choices.next(loginContext, { linked })
    : refuseLink(loginContext, { kind, linked }, result)
}

/** What they chose: with it the code is used up and the person signed in, in one step. */
async function takeInvitePassword(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const linked = linkedIn(fields)
  const result = await checkLink(cx, kind, linked)
  if (result !== "ok") return refuseLink(loginContext, { kind, linked }, result)
  const { userId, code } = linked
  const password = (plain: string) => invitedPassword(cx, userId, plain)
  const chosen = await firstCredentialIn(loginContext, { userId, fields, password })
  if ("problem" in chosen) return choices.next(loginContext, { linked, ...chosen })
  if (!mayTake(cx, userId, chosen)) return choices.next(loginContext, { linked })
  try {
    return await completeSignIn<never>(loginContext, {
      userId,
      first: (tx) => void acceptInvite(tx, userId, { code, ...chosen }),
      proof: () => proofOf(chosen),
      stopAt: () => doneHref(loginContext, kind, userId),
      method: "passkey" in chosen ? "passwordless" : "password",
    })
  } catch (cause) {
    if (!(cause instanceof Fault) || cause.id !== "user.key_taken") throw cause
    return choices.next(loginContext, { linked, problem: keyProblem })
  }
}

type Offered = { readonly passkey: boolean; readonly password: boolean }

/** What the policies let somebody begin with; a password where the instance can have no keys. */
function offeredTo(cx: Cx, userId: string): Offered {
  const policy = policyFor(cx, { userId, orgId: homeOf(cx, userId) }, login)
  const passkey = hasKeys(cx) && policy.allowPasswordless
  return { passkey, password: policy.allowUsernamePassword || !passkey }
}

/** Also for what was posted to a page that no longer offers it, or never did. */
const mayTake = (cx: Cx, userId: string, chosen: FirstCredential): boolean =>
  offeredTo(cx, userId)["passkey" in chosen ? "passkey" : "password"]

async function passkeyFor(
  loginContext: LoginContext,
  userId: string,
): Promise<Omit<FirstPasskey, "error"> | undefined> {
  const { cx } = loginContext
  const { passkey, password } = offeredTo(cx, userId)
  if (!passkey) return undefined
  const begun = firstPasskey(loginContext, userId, await invitedKey(cx, userId))
  return { ...begun, place: password ? "first" : "only" }
}

async function choicePage(
  loginContext: LoginContext,
  linked: Linked,
  problem?: ChoiceProblem,
): Promise<Response> {
  const invitation = invitationOf(loginContext.cx, linked.userId)
  const { orgId, organization, applicationName: application } = invitation
  const passkey = await passkeyFor(loginContext, linked.userId)
  const asked = {
    ...({ page: kind, linked, orgId, action: loginPaths.invitePassword } as const),
    passkey,
    words: (t: Parameters<Parameters<typeof linkPasswordPage>[1]["words"]>[0]) => ({
      title: t(passkey ? "invite.choice.title" : "invite.password.title"),
      lead: application
        ? t("invite.password.lead_application", { organization, application })
        : t("invite.password.lead", { organization }),
      submit: t("password_change.submit"),
    }),
  }
  return linkPasswordPage(loginContext, asked, problem)
}

export const inviteScreen: Screen = { path: loginPaths.invite, get: askVerify, post: takeInvite }

export const invitePasswordScreen: Screen = {
  path: loginPaths.invitePassword,
  get: askInvitePassword,
  post: takeInvitePassword,
}
