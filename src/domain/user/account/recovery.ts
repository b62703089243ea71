import type { Transaction } from "../../../store/index.ts"
import type { NewCode } from "../credential/code.ts"
import { forgetFailedTries } from "../credential/lockout.ts"
import { addReset } from "../credential/reset.ts"
import { removeKey } from "../factor/key.ts"
import { removeOtp } from "../factor/otp.ts"
import { type Factor, isPerson, keysOf, personIn } from "../factor/ready.ts"
import { removeRecoveryCodes } from "../factor/recovery-code.ts"
import { removeTotp } from "../factor/totp.ts"
import { factorsOf } from "../factors.ts"
import { type User, user } from "../model.ts"
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

type RemovedFactor = { readonly kind: Factor; readonly name: string }

/** What a person has set up that `recoverUser` removes; `name` is that of a key. */
export function recoveryRemoves(state: User): RemovedFactor[] {
  if (!isPerson(state)) return []
  const { totp, otpEmail, otpSms, recoveryCodes } = factorsOf(state)
  const nameless = (kind: Factor, isSetUp: boolean) => (isSetUp ? [{ kind, name: "" }] : [])
  return [
    ...keysOf(state).map(({ kind, name }) => ({ kind, name })),
    ...nameless("otp", totp?.verified === true),
    ...nameless("otp_email", otpEmail),
    ...nameless("otp_sms", otpSms),
    ...nameless(
      "recovery_codes",
      recoveryCodes.some((hash) => hash !== ""),
    ),
  ]
}

function removeFactors(tx: Transaction, id: string): void {
  const factors = factorsOf(personIn(tx.state(user, id)))
  const { totp, otpEmail, otpSms, recoveryCodes, keys } = factors
  if (totp) removeTotp.within(tx, id)
  if (otpEmail) removeOtp.within(tx, id, "email")
  if (otpSms) removeOtp.within(tx, id, "sms")
  if (recoveryCodes.length > 0) removeRecoveryCodes.within(tx, id)
  for (const [tokenId, { kind }] of Object.entries(keys))
    removeKey.within(tx, id, { kind, tokenId })
}
