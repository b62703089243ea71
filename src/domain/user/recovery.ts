import type { Transaction } from "../../store/index.ts"
import { addReset, type NewCode } from "../credential/index.ts"
import { removeFactors, requireHuman } from "../factor/index.ts"
import { resetFailedAttempts } from "../lockout/index.ts"
import { user } from "../user-model/index.ts"
import { reactivateUser, unlockUser } from "./commands.ts"

/** `keepsFactors`: keep the user's second factors and passkeys. */
export type RecoverUserInput = { readonly code: NewCode; readonly keepsFactors: boolean }

/**
 * Lets a user choose a password with a code, regardless of what prevented the sign-in: reactivates
 * the user and removes possibly lost factors. Only the server operator can do this; rejects removed
 * users and service accounts.
 */
export function recoverUser(
  tx: Transaction,
  id: string,
  { code, keepsFactors }: RecoverUserInput,
): void {
  const { status } = requireHuman(tx.state(user, id))
  if (status === "locked") unlockUser.within(tx, id)
  if (status === "inactive") reactivateUser.within(tx, id)
  resetFailedAttempts(tx, id)
  tx.append(user, id, [{ type: "user.recovery.started", data: {} }])
  if (!keepsFactors) removeFactors(tx, id)
  addReset.within(tx, id, { code, channel: "email" })
}
