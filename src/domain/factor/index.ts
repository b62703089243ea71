export { type CheckKind, factorChecks } from "./check.ts"
export { beginFirstKey, verifyFirstKey } from "./key/first-key.ts"
export { beginKey, prepareKey, releaseKeys } from "./key/key.ts"
export { areKeysSupported, originsOf } from "./key/relying-party.ts"
export { challengeKey, findKeyOwner, findUnknownCredentialId } from "./key/webauthn-check.ts"
export { addOtp, checkMailedCode, createCodeChallenge, type OtpChannel } from "./otp.ts"
export type {
  Challenge,
  FactorCheckResult,
  FactorDecision,
  FactorProof,
  UserVerification,
} from "./proof.ts"
export {
  type Factor,
  factorsSkippedAt,
  isAllowedFactor,
  listFactorsSetUp,
  remainingRecoveryCodes,
  requireHuman,
  secondFactorsOf,
  verifiedChannels,
} from "./ready.ts"
export { importRecoveryCodes } from "./recovery-code.ts"
export { listRemovableFactors, removeFactors } from "./removal.ts"
export { skipFactors } from "./skip.ts"
export {
  importTotp,
  pendingTotp,
  prepareTotpVerification,
  registerTotp,
  totpSecret,
  totpUri,
} from "./totp.ts"

/** Parts of this module that the server loads. */
export const module = { operations: () => import("./api.ts") } as const
