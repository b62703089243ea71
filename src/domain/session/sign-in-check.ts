import type { Cx, Transaction } from "../../store/index.ts"
import { type PasswordDecision, passwordOf } from "../credential/index.ts"
import { org } from "../org/index.ts"
import { login, passwordAge, policyFor } from "../policy/index.ts"
import { hasPasskey, type Password, user } from "../user-model/index.ts"

/** Why a user with the correct password can't sign in. */
export type SignInObstacle =
  | "wrong"
  | "locked"
  | "inactive"
  | "change required"
  | "passkey required"

/**
 * Decides within a transaction whether a user with the correct password can sign in, with the same
 * rules for all login pages. Returns undefined if so.
 */
export function findSignInObstacle(
  tx: Transaction,
  userId: string,
  admit: PasswordDecision,
): SignInObstacle | undefined {
  const admitted = admit(tx)
  if (admitted !== "ok") return admitted === "none" ? "wrong" : admitted
  if (!isHomeActive(tx, userId)) return "inactive"
  if (requiresPasskey(tx, userId)) return "passkey required"
  const password = passwordOf(tx.state(user, userId))
  const isDue = password !== null && (password.changeRequired || isTooOld(tx, userId, password))
  return isDue ? "change required" : undefined
}

/**
 * Whether the policy allows no password sign-in. Users without a passkey can still use their
 * password, to register one.
 */
function requiresPasskey(tx: Transaction, userId: string): boolean {
  if (!hasPasskey(tx.state(user, userId))) return false
  return !policyFor(tx, { userId, orgId: tx.owner(user, userId) }, login).allowUsernamePassword
}

/**
 * Whether a user can sign in with a passkey alone. `multiFactors` applies to passkeys that are used
 * after a password.
 */
export const canUsePasskeyAlone = (tx: Transaction, userId: string): boolean =>
  policyFor(tx, { userId, orgId: tx.owner(user, userId) }, login).allowPasswordless

/** Whether a password is older than the policy allows. */
function isTooOld(tx: Transaction, userId: string, { changed }: Password): boolean {
  const { maxAgeDays } = policyFor(tx, { userId, orgId: tx.owner(user, userId) }, passwordAge)
  return maxAgeDays > 0 && tx.now >= changed + maxAgeDays * dayMs
}

const dayMs = 86_400_000

/**
 * In how many days a password expires, if the policy requires a warning now; undefined otherwise.
 */
export function daysUntilExpiry(tx: Transaction, userId: string): number | undefined {
  const password = passwordOf(tx.state(user, userId))
  const { maxAgeDays, expireWarnDays } = policyFor(
    tx,
    { userId, orgId: tx.owner(user, userId) },
    passwordAge,
  )
  if (!password || maxAgeDays === 0 || expireWarnDays === 0) return undefined
  const daysLeft = Math.ceil((password.changed + maxAgeDays * dayMs - tx.now) / dayMs)
  return daysLeft <= expireWarnDays ? daysLeft : undefined
}

/** Why a user who authenticated without a password can't sign in; undefined if they can. */
export function findAccountObstacle(
  tx: AccountReader,
  userId: string,
): "locked" | "inactive" | undefined {
  const { status } = tx.state(user, userId)
  if (status === "locked") return "locked"
  return status === "active" && isHomeActive(tx, userId) ? undefined : "inactive"
}

/** The same outside a transaction, which must check again. */
export const findCurrentAccountObstacle = (
  cx: Cx,
  userId: string,
): "locked" | "inactive" | undefined =>
  findAccountObstacle(
    {
      state: (kind, id) => cx.store.state(cx, kind, id),
      owner: (kind, id) => cx.store.receipt(cx, kind, id)?.owner ?? "",
    },
    userId,
  )

type AccountReader = Pick<Transaction, "state" | "owner">

const isHomeActive = (tx: AccountReader, userId: string): boolean =>
  tx.state(org, tx.owner(user, userId)).status === "active"
