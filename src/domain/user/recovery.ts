import type { Transaction } from "../../store/index.ts"
import { addReset, type NewCode } from "../credential/index.ts"
import { personIn, removeFactors } from "../factor/index.ts"
import { forgetFailedTries } from "../lockout/index.ts"
import { user } from "../user-model/index.ts"
import { reactivateUser, unlockUser } from "./commands.ts"

/** `keepsFactors`: what they prove themself with beside a password is not lost. */
export type Recovery = { readonly code: NewCode; readonly keepsFactors: boolean }

/**
 * Lets a person choose a password by a code, whatever kept them out: they are active again, and
 * what they may have lost is taken away. Only whoever runs the server may; refuses who is removed,
 * and service users.
 */
export function recoverUser(tx: Transaction, id: string, { code, keepsFactors }: Recovery): void {
  const { status } = personIn(tx.state(user, id))
  if (status === "locked") unlockUser.within(tx, id)
  if (status === "inactive") reactivateUser.within(tx, id)
  forgetFailedTries(tx, id)
  tx.append(user, id, [{ type: "user.recovery.started", data: {} }])
  if (!keepsFactors) removeFactors(tx, id)
  addReset.within(tx, id, { code, channel: "email" })
}
