import { v2 } from "./v2.ts"

export { type Finding, findingOfAddress } from "./finding.ts"
export { noteRefusal, type Refusal } from "./refusal.ts"

/** What this room answers of the book. */
export const shares = [v2] as const
