import type { FirstPasskey, Linked } from "../../../../ui/login/index.ts"
import { areKeysSupported } from "../../../domain/factor/index.ts"
import { login, policyFor } from "../../../domain/policy/index.ts"
import {
  acceptInvite,
  beginInvitedKey,
  type FirstCredential,
  getInvitation,
  prepareInvitedPassword,
} from "../../../domain/registration/index.ts"
import { findHomeOrg } from "../../../domain/user-model/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import { hrefOf, type LoginContext, type Screen } from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { pageStateFor } from "../../page-state.ts"
import { doneHref } from "../../part/done.ts"
import {
  firstPasskey,
  parseFirstCredential,
  passkeyProblem,
  proofOfCredential,
} from "../../part/first-credential.ts"
import {
  type ChoiceProblem,
  checkLink,
  linkPasswordPage,
  parseLinked,
  rejectLink,
} from "../../part/link.ts"
import { loginPaths } from "../../path.ts"
import { showVerify } from "./verify.ts"

const kind = "invite"

/** State of the page after a valid code: the credential was rejected. */
type CredentialState = { readonly linked: Linked; readonly problem?: ChoiceProblem }

const credentialState = pageStateFor<CredentialState>(loginPaths.invitePassword)

/** GET: asks for a passkey or a password; without a valid code, redirects to the first page. */
function showInvitePassword(loginContext: LoginContext): Promise<Response> | Response {
  const choice = credentialState.of(loginContext)
  if (!choice) return redirectTo(hrefOf(loginContext, loginPaths.loginName))
  return choicePage(loginContext, choice.linked, choice.problem)
}

/** POST: the code. Only a valid one reveals who is invited, and by which organization. */
async function postInvite(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const linked = parseLinked(fields)
  const result = await checkLink(loginContext.cx, kind, linked)
  return result === "ok"
    ? credentialState.next(loginContext, { linked })
    : rejectLink(loginContext, { kind, linked }, result)
}

/**
 * POST: the chosen credential. Stores it, uses the code and signs in the user, in one transaction.
 */
async function postInvitePassword(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const linked = parseLinked(fields)
  const result = await checkLink(cx, kind, linked)
  if (result !== "ok") return rejectLink(loginContext, { kind, linked }, result)
  const { userId, code } = linked
  const password = (plain: string) => prepareInvitedPassword(cx, userId, plain)
  const chosen = await parseFirstCredential(loginContext, { userId, fields, password })
  if ("problem" in chosen) return credentialState.next(loginContext, { linked, ...chosen })
  if (!isAllowed(cx, userId, chosen)) return credentialState.next(loginContext, { linked })
  try {
    return await completeSignIn<never>(loginContext, {
      userId,
      first: (tx) => void acceptInvite(tx, userId, { code, ...chosen }),
      proof: () => proofOfCredential(chosen),
      stopAt: () => doneHref(loginContext, kind, userId),
      method: "passkey" in chosen ? "passwordless" : "password",
    })
  } catch (cause) {
    if (!(cause instanceof Fault) || cause.id !== "user.key_taken") throw cause
    return credentialState.next(loginContext, { linked, problem: passkeyProblem })
  }
}

type AllowedCredentials = { readonly passkey: boolean; readonly password: boolean }

/**
 * The credentials that the policies allow; a password if the instance does not support passkeys.
 */
function allowedCredentials(cx: Cx, userId: string): AllowedCredentials {
  const policy = policyFor(cx, { userId, orgId: findHomeOrg(cx, userId) }, login)
  const passkey = areKeysSupported(cx) && policy.allowPasswordless
  return { passkey, password: policy.allowUsernamePassword || !passkey }
}

/** Also rejects what was posted to a page that no longer offers it, or never did. */
const isAllowed = (cx: Cx, userId: string, chosen: FirstCredential): boolean =>
  allowedCredentials(cx, userId)["passkey" in chosen ? "passkey" : "password"]

async function offerPasskeyFor(
  loginContext: LoginContext,
  userId: string,
): Promise<Omit<FirstPasskey, "error"> | undefined> {
  const { cx } = loginContext
  const { passkey, password } = allowedCredentials(cx, userId)
  if (!passkey) return undefined
  const registration = firstPasskey(loginContext, userId, await beginInvitedKey(cx, userId))
  return { ...registration, place: password ? "first" : "only" }
}

async function choicePage(
  loginContext: LoginContext,
  linked: Linked,
  problem?: ChoiceProblem,
): Promise<Response> {
  const invitation = getInvitation(loginContext.cx, linked.userId)
  const { orgId, organization, applicationName: application } = invitation
  const passkey = await offerPasskeyFor(loginContext, linked.userId)
  const pageOptions = {
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
  return linkPasswordPage(loginContext, pageOptions, problem)
}

export const inviteScreen: Screen = { path: loginPaths.invite, get: showVerify, post: postInvite }

export const invitePasswordScreen: Screen = {
  path: loginPaths.invitePassword,
  get: showInvitePassword,
  post: postInvitePassword,
}
