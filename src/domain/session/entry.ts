import type { Cx, Transaction } from "../../store/index.ts"
import { type Admit, passwordOf } from "../credential/index.ts"
import { org } from "../org/index.ts"
import { login, passwordAge, policyFor } from "../policy/index.ts"
import { hasPasskey, type Password, user } from "../user-model/index.ts"

/** What keeps somebody out who knows the password of an account. */
export type Hindrance = "wrong" | "locked" | "inactive" | "change required" | "passkey required"

/**
 * Decides, as a part of a step, whether a right password lets in: at every entrance by the same
 * rules. Undefined where nothing is in the way.
 */
export function hindranceOf(tx: Transaction, userId: string, admit: Admit): Hindrance | undefined {
  const admitted = admit(tx)
  if (admitted !== "ok") return admitted === "none" ? "wrong" : admitted
  if (!isHomeActive(tx, userId)) return "inactive"
  if (needsPasskey(tx, userId)) return "passkey required"
  const password = passwordOf(tx.state(user, userId))
  const isDue = password !== null && (password.changeRequired || isTooOld(tx, userId, password))
  return isDue ? "change required" : undefined
}

/**
 * Whether the policy lets nobody in by a password. Who has no passkey yet sets one up with it:
 * there is no other proof of who they are.
 */
function needsPasskey(tx: Transaction, userId: string): boolean {
  if (!hasPasskey(tx.state(user, userId))) return false
  return !policyFor(tx, { userId, orgId: tx.owner(user, userId) }, login).allowUsernamePassword
}

/**
 * Whether a user can sign in with a passkey alone. `multiFactors` concerns passkeys that are used
 * beside a password.
 */
export const mayUsePasskeyAlone = (tx: Transaction, userId: string): boolean =>
  policyFor(tx, { userId, orgId: tx.owner(user, userId) }, login).allowPasswordless

/** Whether a password has been in use for longer than the policy wants. */
function isTooOld(tx: Transaction, userId: string, { changed }: Password): boolean {
  const { maxAgeDays } = policyFor(tx, { userId, orgId: tx.owner(user, userId) }, passwordAge)
  return maxAgeDays > 0 && tx.now >= changed + maxAgeDays * day
}

const day = 86_400_000

/**
 * In how many days a password has to be replaced, where the policy wants its person to know by now;
 * undefined elsewhere.
 */
export function daysLeftOf(tx: Transaction, userId: string): number | undefined {
  const password = passwordOf(tx.state(user, userId))
  const { maxAgeDays, expireWarnDays } = policyFor(
    tx,
    { userId, orgId: tx.owner(user, userId) },
    passwordAge,
  )
  if (!password || maxAgeDays === 0 || expireWarnDays === 0) return undefined
  const left = Math.ceil((password.changed + maxAgeDays * day - tx.now) / day)
  return left <= expireWarnDays ? left : undefined
}

/** The same for who has proved themself without a password. */
export function standingOf(tx: Standing, userId: string): "locked" | "inactive" | undefined {
  const { status } = tx.state(user, userId)
  if (status === "locked") return "locked"
  return status === "active" && isHomeActive(tx, userId) ? undefined : "inactive"
}

/** The same before a step, which asks again. */
export const standingNow = (cx: Cx, userId: string): "locked" | "inactive" | undefined =>
  standingOf(
    {
      state: (kind, id) => cx.store.state(cx, kind, id),
      owner: (kind, id) => cx.store.receipt(cx, kind, id)?.owner ?? "",
    },
    userId,
  )

type Standing = Pick<Transaction, "state" | "owner">

const isHomeActive = (tx: Standing, userId: string): boolean =>
  tx.state(org, tx.owner(user, userId)).status === "active"
