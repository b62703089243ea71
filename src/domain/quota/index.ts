import { limits, quota, restrictions, usage } from "./model.ts"

export { quotaNotifications } from "./reactor.ts"
export { allowedOf, languagesOf, setRestrictions } from "./restriction.ts"
export { auditLogRetention, blocked, countRequest, isBlocked } from "./usage.ts"

/** What this room keeps streams of. */
export const aggregates = [quota, usage, limits, restrictions] as const
