import { passwordOf } from "../../../domain/credential/index.ts"
import { daysLeftOf } from "../../../domain/session/index.ts"
import { user } from "../../../domain/user-model/index.ts"
import type { Transaction } from "../../../store/index.ts"
import {
  accountOf,
  afterwards,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
} from "../../context.ts"
import { goTo } from "../../form.ts"
import { notesFor } from "../../note.ts"
import { loginPaths } from "../../path.ts"
import { changes, writeProof } from "./change.ts"

/** Whose password is to be replaced soon, that they have just proved it, and how soon. */
type Expiring = { readonly userId: string; readonly proof: string; readonly days: number }

const expiring = notesFor<Expiring>(loginPaths.passwordExpiry)

/**
 * Where somebody is stopped on their way whose password expires in so few days that the policy
 * wants them to know; undefined where it doesn't. Asked within the step that signs in.
 */
export function expiryHref(
  tx: Transaction,
  loginContext: LoginContext,
  userId: string,
): string | undefined {
  const days = daysLeftOf(tx, userId)
  if (days === undefined) return undefined
  const { cx, browserContext } = loginContext
  const { version = 0 } = passwordOf(tx.state(user, userId)) ?? {}
  const proof = writeProof(cx, browserContext, { userId, version })
  return expiring.href(loginContext, { userId, proof, days })
}

/** GET: says it, and leads on as well as to another password. */
function askExpiry(loginContext: LoginContext): Promise<Response> | Response {
  const note = expiring.of(loginContext)
  if (!note) return goTo(afterwards(loginContext))
  const { userId, proof, days } = note
  const page = {
    account: accountOf(loginContext.cx, userId),
    changeHref: hrefOf(loginContext, loginPaths.loginName),
    replaceHref: changes.href(loginContext, { proof, isEarly: true }),
    onwardHref: afterwards(loginContext),
    days,
  }
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => ui.PasswordExpiryPage({ ...shared, ...page }),
    optionsOf(loginContext, 200, userId),
  )
}

export const passwordExpiryScreen: Screen = { path: loginPaths.passwordExpiry, get: askExpiry }
