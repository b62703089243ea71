import type { Transaction } from "../../store/index.ts"
import { factorsOf, type User, user } from "../user-model/index.ts"
import { removeKey } from "./key/key.ts"
import { removeOtp } from "./otp.ts"
import { type Factor, isHuman, keysOf, requireHuman } from "./ready.ts"
import { removeRecoveryCodes } from "./recovery-code.ts"
import { removeTotp } from "./totp.ts"

type RemovedFactor = { readonly kind: Factor; readonly name: string }

/** Factors that `removeFactors` removes; `name` is set for keys. */
export function listRemovableFactors(state: User): RemovedFactor[] {
  if (!isHuman(state)) return []
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

/** Removes all factors of a user besides the password, within a transaction. */
export function removeFactors(tx: Transaction, id: string): void {
  const factors = factorsOf(requireHuman(tx.state(user, id)))
  const { totp, otpEmail, otpSms, recoveryCodes, keys } = factors
  if (totp) removeTotp.within(tx, id)
  if (otpEmail) removeOtp.within(tx, id, "email")
  if (otpSms) removeOtp.within(tx, id, "sms")
  if (recoveryCodes.length > 0) removeRecoveryCodes.within(tx, id)
  for (const [tokenId, { kind }] of Object.entries(keys))
    removeKey.within(tx, id, { kind, tokenId })
}
