export { because, type Cause } from "./cause.ts"
export { about, type Finding, type Found, findingOfAddress, findingsOf } from "./finding.ts"
export { noteRefusal, type Refusal } from "./refusal.ts"

/** What this module is to the whole. */
export const module = {
  operations: () => import("./api.ts"),
} as const
