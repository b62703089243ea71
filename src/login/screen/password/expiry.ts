import { passwordOf } from "../../../domain/credential/index.ts"
import { daysUntilExpiry } from "../../../domain/session/index.ts"
import { user } from "../../../domain/user-model/index.ts"
import type { Transaction } from "../../../store/index.ts"
import {
  accountOf,
  destinationAfterSignIn,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
} from "../../context.ts"
import { redirectTo } from "../../form.ts"
import { pageStateFor } from "../../page-state.ts"
import { loginPaths } from "../../path.ts"
import { passwordChangeState, sealProof } from "./change.ts"

/** A user whose password expires soon, their proof of it, and the remaining days. */
type ExpiryState = { readonly userId: string; readonly proof: string; readonly days: number }

const expiryState = pageStateFor<ExpiryState>(loginPaths.passwordExpiry)

/**
 * The page that warns a user whose password expires within the warning period of the policy;
 * undefined otherwise. Called within the sign-in transaction.
 */
export function expiryHref(
  tx: Transaction,
  loginContext: LoginContext,
  userId: string,
): string | undefined {
  const days = daysUntilExpiry(tx, userId)
  if (days === undefined) return undefined
  const { cx, browserContext } = loginContext
  const { version = 0 } = passwordOf(tx.state(user, userId)) ?? {}
  const proof = sealProof(cx, browserContext, { userId, version })
  return expiryState.href(loginContext, { userId, proof, days })
}

/** GET: shows the warning; links to the next page and to the password change. */
function showExpiry(loginContext: LoginContext): Promise<Response> | Response {
  const state = expiryState.of(loginContext)
  if (!state) return redirectTo(destinationAfterSignIn(loginContext))
  const { userId, proof, days } = state
  const page = {
    account: accountOf(loginContext.cx, userId),
    changeHref: hrefOf(loginContext, loginPaths.loginName),
    replaceHref: passwordChangeState.href(loginContext, { proof, isEarly: true }),
    nextHref: destinationAfterSignIn(loginContext),
    days,
  }
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => ui.PasswordExpiryPage({ ...shared, ...page }),
    optionsOf(loginContext, 200, userId),
  )
}

export const passwordExpiryScreen: Screen = { path: loginPaths.passwordExpiry, get: showExpiry }
