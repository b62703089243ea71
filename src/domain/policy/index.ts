import { generators } from "./generator.ts"
import { policies } from "./model.ts"

export {
  appliesTo,
  authorsAfter,
  judgeRankBy,
  type PartialUpdate,
  type Reading,
} from "./applies.ts"
export {
  addPolicy,
  addPolicyIn,
  dropLook,
  findLookFile,
  findPolicy,
  idOf as policiesId,
  isPolicyApplied,
  lookFileOf,
  policyFor,
  policyIn,
  policyOf,
  setLookFile,
} from "./commands.ts"
export { domainPolicy, notification } from "./domain.ts"
export { codeStrength, newClientSecret, newCode } from "./generator.ts"

export { type Login, login, type SecondFactor } from "./login.ts"
export { lookAddress, lookPath, lookPaths } from "./look.ts"

export { type Label, type LookFiles, label, labelPreview, type Privacy, privacy } from "./page.ts"
export {
  lengthOnly,
  lockout,
  type PasswordComplexity,
  passwordAge,
  passwordComplexity,
} from "./password.ts"

/** What this module is to the whole; the forms of its messages are read with its operations. */
export const module = {
  aggregates: [policies, generators],
  history: () => import("./binding/history.ts"),
  operations: () => import("./api.ts"),
} as const
