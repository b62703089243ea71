import { limits, quota, usage } from "./model.ts"

export { auditLogRetention, blocked, countRequest, isBlocked } from "./usage.ts"

/** What this room keeps streams of. */
export const aggregates = [quota, usage, limits] as const
