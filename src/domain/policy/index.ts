import { generators } from "./generator.ts"
import { policies } from "./model.ts"

export { policyIn, policyOf } from "./commands.ts"
export { type DomainPolicy, domainPolicy, notification } from "./domain.ts"
export { newClientSecret, newCode } from "./generator.ts"
export { login, type SecondFactor } from "./login.ts"
export { type Label, label, privacy } from "./page.ts"
export { lockout, type PasswordComplexity, passwordAge, passwordComplexity } from "./password.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [policies, generators],
  operations: () => import("./api.ts"),
} as const
