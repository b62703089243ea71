import { limits, quota, usage } from "./model.ts"
import { system } from "./v1.ts"

export { auditLogRetention, blocked, countRequest, isBlocked } from "./usage.ts"

/** What this room keeps streams of. */
export const aggregates = [quota, usage, limits] as const

/** What this room answers of the book. */
export const shares = [system] as const
