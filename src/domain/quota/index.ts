import { limits, quota, restrictions, usage } from "./model.ts"
import { quotaNotifications } from "./reactor.ts"

export { restrictions } from "./model.ts"
export { quotaNotifications } from "./reactor.ts"
export { languagesOf, negotiateLanguages, restrictionsOf, setRestrictions } from "./restriction.ts"
export { auditLogRetention, blockedError, countRequest, isBlocked } from "./usage.ts"

/** The registration of this module. */
export const module = {
  aggregates: [quota, usage, limits, restrictions],
  reactors: [quotaNotifications],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
