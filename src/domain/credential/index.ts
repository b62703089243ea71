export { createCode, linkKeyOf, mustBeModest, type NewCode } from "./code.ts"
export {
  type CodeCheck,
  checkCode,
  codeOf,
  codeWrongError,
  isCode,
  mustBeActive,
  tryCode,
} from "./code-check.ts"
export {
  type Admit,
  changedPassword,
  complexityFor,
  createPassword,
  firstPasswordFor,
  firstPasswordIn,
  importPassword,
  type NewPassword,
  passwordChanged,
  passwordOf,
  passwordSet,
  provePassword,
  replacementOf,
  replacePassword,
  setPassword,
} from "./commands.ts"
export { proveElsewhere } from "./elsewhere.ts"
export { inviteAdded } from "./invite-code.ts"
export { createMagicLink, type MagicLink, requestMagicLink, tryMagicLink } from "./magic-link.ts"
export { passwordLoad, warmPasswords } from "./password.ts"
export { addReset, askReset, resetPasswordFor } from "./reset.ts"
export { noteViewed, sentCode } from "./sent-code.ts"

/** What this module is to the whole. */
export const module = { operations: () => import("./api.ts") } as const
