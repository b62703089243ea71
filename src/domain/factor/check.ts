import { checkKey } from "./key/webauthn-check.ts"
import { checkEmailCode, checkSmsCode } from "./otp.ts"
import type { FactorCheck } from "./proof.ts"
import { checkRecoveryCode } from "./recovery-code.ts"
import { checkTotp } from "./totp.ts"

export const checkKinds = ["totp", "otp_email", "otp_sms", "recovery_code", "webauthn"] as const

/** Kinds of authentication factors besides the password. */
export type CheckKind = (typeof checkKinds)[number]

/** The check for each kind. */
export const factorChecks: Readonly<Record<CheckKind, FactorCheck>> = {
  totp: checkTotp,
  otp_email: checkEmailCode,
  otp_sms: checkSmsCode,
  recovery_code: checkRecoveryCode,
  webauthn: checkKey,
}
