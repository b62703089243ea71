import { generators } from "./generator.ts"
import { policies } from "./model.ts"

export {
  authorsAfter,
  isApplicable,
  type PartialUpdate,
  type RankReader,
  registerRankComparer,
} from "./applies.ts"
export {
  type BrandingFiles,
  type Label,
  label,
  labelPreview,
  type Privacy,
  privacy,
} from "./branding.ts"
export { brandingPath, brandingPaths, brandingUrl } from "./branding-url.ts"
export {
  addPolicy,
  addPolicyInTransaction,
  findBrandingFile,
  findOwnOrInstanceFile,
  findPolicy,
  isOrgPolicyApplied,
  policyFor,
  policyInTransaction,
  policyOf,
  policyStreamId as policiesId,
  removeBranding,
  setBrandingFile,
} from "./commands.ts"
export { domainPolicy, notification } from "./domain.ts"
export { codeStrengthBits, generateClientSecret, generateCode } from "./generator.ts"
export { type Login, login, type SecondFactor } from "./login.ts"
export {
  lockout,
  type PasswordComplexity,
  passwordAge,
  passwordComplexity,
  setupComplexity,
} from "./password.ts"

/**
 * Parts of this module that the server loads; its message conversions are loaded with its
 * operations.
 */
export const module = {
  aggregates: [policies, generators],
  history: () => import("./binding/history.ts"),
  operations: () => import("./api.ts"),
} as const
