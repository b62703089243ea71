import { activeProvider } from "../../domain/message-provider/index.ts"
import { login, policyOf } from "../../domain/policy/index.ts"
import { hrefOf, type LoginContext } from "../context.ts"
import { pageOrgOf } from "../page.ts"
import { pageStateFor } from "../page-state.ts"
import { loginPaths } from "../path.ts"

// Sign-in options that use email.

/**
 * Whether the page offers an emailed link instead of a password. Uses the policy of the page: the
 * user's own policy, which decides later, would reveal whether the account exists.
 */
export function offersLink(loginContext: LoginContext): boolean {
  const { cx, waiting } = loginContext
  if (!canSendEmail(loginContext)) return false
  return policyOf(cx, pageOrgOf(cx, waiting?.asked.home)?.id ?? "", login).allowMagicLink
}

/**
 * The page for a forgotten password; undefined if the policy hides it or no email can be sent. Uses
 * the policy of the page: the user's own would reveal whether the account exists. The login name in
 * the URL is sealed, so that it appears in no log.
 */
export function forgotHref(loginContext: LoginContext, loginName: string): string | undefined {
  if (isResetHidden(loginContext)) return undefined
  return loginName === ""
    ? hrefOf(loginContext, loginPaths.forgot)
    : forgotPasswordState.href(loginContext, { loginName })
}

/** Why a login name was rejected. */
export type ForgottenProblem = { readonly isMissing: true } | { readonly retryAfterSeconds: number }

type ForgotPasswordState = { readonly loginName: string; readonly problem?: ForgottenProblem }

/** The login name, and why it was rejected. */
export const forgotPasswordState = pageStateFor<ForgotPasswordState>(loginPaths.forgot)

/** Whether password reset links are not offered. */
export function isResetHidden(loginContext: LoginContext): boolean {
  return isHiddenByPolicy(loginContext) || !canSendEmail(loginContext)
}

/** Whether the page must refer users to an administrator, because no link can be sent. */
export const needsAdministrator = (loginContext: LoginContext): boolean =>
  !canSendEmail(loginContext) && !isHiddenByPolicy(loginContext)

function isHiddenByPolicy({ cx, waiting }: LoginContext): boolean {
  return policyOf(cx, pageOrgOf(cx, waiting?.asked.home)?.id ?? "", login).hidePasswordReset
}

/** Whether email can be sent. */
export const canSendEmail = ({ cx }: Pick<LoginContext, "cx">): boolean =>
  activeProvider(cx, "email") !== undefined
