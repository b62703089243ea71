import type { Transaction } from "../../store/index.ts"
import { factorsOf, type User, user } from "../user-model/index.ts"
import { removeKey } from "./key/key.ts"
import { removeOtp } from "./otp.ts"
import { type Factor, isPerson, keysOf, personIn } from "./ready.ts"
import { removeRecoveryCodes } from "./recovery-code.ts"
import { removeTotp } from "./totp.ts"

type RemovedFactor = { readonly kind: Factor; readonly name: string }

/** What a person has set up that `removeFactors` removes; `name` is that of a key. */
export function removableFactors(state: User): RemovedFactor[] {
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

/** Removes whatever a person has set up beside a password, as a part of a step. */
export function removeFactors(tx: Transaction, id: string): void {
  const factors = factorsOf(personIn(tx.state(user, id)))
  const { totp, otpEmail, otpSms, recoveryCodes, keys } = factors
  if (totp) removeTotp.within(tx, id)
  if (otpEmail) removeOtp.within(tx, id, "email")
  if (otpSms) removeOtp.within(tx, id, "sms")
  if (recoveryCodes.length > 0) removeRecoveryCodes.within(tx, id)
  for (const [tokenId, { kind }] of Object.entries(keys))
    removeKey.within(tx, id, { kind, tokenId })
}
