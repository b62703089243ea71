export { because, type Cause } from "./cause.ts"
export { type Finding, findingOfAddress } from "./finding.ts"
export { noteRefusal, type Refusal } from "./refusal.ts"
