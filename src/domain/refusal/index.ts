export { because, type Cause } from "./cause.ts"
export { about, type Finding, findingOfAddress } from "./finding.ts"
export { noteRefusal, type Refusal } from "./refusal.ts"
