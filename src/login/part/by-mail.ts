import { activeProvider } from "../../domain/message-provider/index.ts"
import { login, policyOf } from "../../domain/policy/index.ts"
import { hrefOf, type LoginContext } from "../context.ts"
import { notesFor } from "../note.ts"
import { pagesOf } from "../page.ts"
import { loginPaths } from "../path.ts"

// What a page offers that comes by mail.

/**
 * Whether the page offers a link by mail instead of a password. The policy is that of the page: the
 * person's own, which decides, would tell who is here.
 */
export function mayAskLink(loginContext: LoginContext): boolean {
  const { cx, waiting } = loginContext
  if (!canMail(loginContext)) return false
  return policyOf(cx, pagesOf(cx, waiting?.asked.home)?.id ?? "", login).allowMagicLink
}

/**
 * Where somebody goes on who has forgotten the password of a name; undefined where the policy hides
 * it, or no mail would arrive. The policy is that of the page: the person's own would tell who is
 * here. The name is for this browser's eyes, and stands in no log.
 */
export function forgotHref(loginContext: LoginContext, loginName: string): string | undefined {
  if (isResetHidden(loginContext)) return undefined
  return loginName === ""
    ? hrefOf(loginContext, loginPaths.forgot)
    : forgotten.href(loginContext, { loginName })
}

/** What was wrong with the name. */
export type ForgottenProblem = { readonly isMissing: true } | { readonly retryAfterSeconds: number }

type ForgottenNote = { readonly loginName: string; readonly problem?: ForgottenProblem }

/** Whose password it was, and what was wrong with that. */
export const forgotten = notesFor<ForgottenNote>(loginPaths.forgot)

/** Whether nobody is offered a link that resets a password. */
export function isResetHidden(loginContext: LoginContext): boolean {
  return isHiddenByPolicy(loginContext) || !canMail(loginContext)
}

/** Whether the page has to name somebody to ask, for no link would arrive. */
export const hasToAsk = (loginContext: LoginContext): boolean =>
  !canMail(loginContext) && !isHiddenByPolicy(loginContext)

function isHiddenByPolicy({ cx, waiting }: LoginContext): boolean {
  return policyOf(cx, pagesOf(cx, waiting?.asked.home)?.id ?? "", login).hidePasswordReset
}

/** Whether a mail would go anywhere. */
export const canMail = ({ cx }: Pick<LoginContext, "cx">): boolean =>
  activeProvider(cx, "email") !== undefined
