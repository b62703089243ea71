import { checkKey } from "./key/webauthn-check.ts"
import { checkEmailCode, checkSmsCode } from "./otp.ts"
import type { Check } from "./proof.ts"
import { checkRecoveryCode } from "./recovery-code.ts"
import { checkTotp } from "./totp.ts"

export const checkKinds = ["totp", "otp_email", "otp_sms", "recovery_code", "webauthn"] as const

/** What can be proved beside a password. */
export type CheckKind = (typeof checkKinds)[number]

/** How each kind is verified. */
export const factorChecks: Readonly<Record<CheckKind, Check>> = {
  totp: checkTotp,
  otp_email: checkEmailCode,
  otp_sms: checkSmsCode,
  recovery_code: checkRecoveryCode,
  webauthn: checkKey,
}
