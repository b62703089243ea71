export { type CheckKind, factorChecks } from "./check.ts"
export { beginFirstKey, firstKey } from "./key/first-key.ts"
export { beginKey, finishedKey, releaseKeys } from "./key/key.ts"
export { hasKeys, originsOf } from "./key/relying-party.ts"
export { challengeKey, keyHolder, unknownKey } from "./key/webauthn-check.ts"
export { addOtp, admitMailedCode, challengeCode, type OtpChannel } from "./otp.ts"
export type { AdmitFactor, Asked, Challenge, Checked, UserVerification } from "./proof.ts"
export {
  type Factor,
  factorSkipped,
  factorsSetUp,
  isAllowedFactor,
  mayHaveCodes,
  personIn,
  recoveryCodesLeft,
  secondFactorsOf,
} from "./ready.ts"
export { importRecoveryCodes } from "./recovery-code.ts"
export { removableFactors, removeFactors } from "./removal.ts"
export { skipFactors } from "./skip.ts"
export { admitTotp, importTotp, pendingTotp, registerTotp, totpSecret, totpUri } from "./totp.ts"

/** What this module is to the whole. */
export const module = { operations: () => import("./api.ts") } as const
