export { createCode, linkKeyOf, type NewCode, requireSafeDelivery } from "./code.ts"
export {
  attemptCode,
  type CodeCheckResult,
  checkCode,
  codeOf,
  invalidCodeError,
  isCodeValid,
  requireActive,
} from "./code-check.ts"
export {
  authenticateWithPassword,
  complexityFor,
  createPassword,
  firstPasswordFor,
  firstPasswordIn,
  type PasswordDecision,
  passwordChangedEvent,
  passwordOf,
  passwordSetEvents,
  preparePasswordChange,
  prepareReplacement,
  replacePassword,
  setPassword,
} from "./commands.ts"
export { checkExternalPassword } from "./external-password.ts"
export { inviteAddedEvent } from "./invite-code.ts"
export {
  attemptMagicLink,
  createMagicLink,
  type MagicLink,
  requestMagicLink,
} from "./magic-link.ts"
export { importPassword, type NewPassword } from "./new-password.ts"
export { passwordLoad, warmPasswords } from "./password.ts"
export { addReset, prepareResetPassword, requestPublicReset } from "./reset.ts"
export { recordCodeViewed, sentCode } from "./sent-code.ts"

/** Parts of this module that the server loads. */
export const module = { operations: () => import("./api.ts") } as const
