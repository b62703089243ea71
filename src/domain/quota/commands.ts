import { Fault } from "../../kernel/fault.ts"
import { type Limits, limits, type Notification, type Quota, quota, type Unit } from "./model.ts"

type QuotaInput = Quota & { readonly unit: Unit }

const minuteMs = 60_000

/** Adds the quota of a unit. */
export const addQuota = quota.command<QuotaInput>((state, input) => {
  validateQuota(input)
  if (state.quota) {
    throw new Fault(
      "already_exists",
      "quota.exists",
      "a quota for this unit already exists; use the update operation",
    )
  }
  return [{ type: "quota.set", data: input }]
})

type QuotaChange = {
  readonly unit: Unit
  /** Derives the new quota from the current one. */
  readonly derive: (before: Quota | undefined) => Quota
}

/** Sets the quota of a unit. Throws if nothing changes. */
export const setQuota = quota.command<QuotaChange>((state, { unit, derive }) => {
  const requirement = derive(state.quota)
  validateQuota({ unit, ...requirement })
  if (state.quota && isSame(state.quota, requirement)) throw unchangedError("quota")
  return [{ type: "quota.set", data: { unit, ...requirement } }]
})

/** Removes a quota. */
export const removeQuota = quota.command<Unit>((state, unit) => {
  if (!state.quota) {
    throw new Fault("not_found", "quota.missing", "no quota found for this unit")
  }
  return [{ type: "quota.removed", data: { unit } }]
})

/** Sets limits of the instance; omitted ones keep their values. Throws if nothing changes. */
export const setLimits = limits.command<Limits>((state, input) => {
  validateLimits(input)
  const { auditLogRetention = state.auditLogRetention, block = state.block } = input
  if (auditLogRetention === state.auditLogRetention && block === state.block) {
    throw unchangedError("limits")
  }
  return [{ type: "limits.set", data: input }]
})

/** Removes all limits. Throws if there are none. */
export const resetLimits = limits.command((state) => {
  if (Object.keys(state).length === 0) throw unchangedError("limits")
  return [{ type: "limits.reset", data: {} }]
})

/** Throws for empty or invalid limits. */
export function validateLimits({ auditLogRetention, block }: Limits): void {
  if (auditLogRetention === undefined && block === undefined) {
    throw invalidError("limits.empty", "audit_log_retention or block is required")
  }
  if (auditLogRetention !== undefined && !(auditLogRetention >= 0)) {
    throw invalidError("limits.retention_invalid", "audit_log_retention must not be negative")
  }
}

const notificationsMax = 20
const urlCharactersMax = 200

function validateNotification({ percent, callUrl }: Notification): void {
  if (percent < 1) throw invalidError("quota.percent_invalid", "percent must be at least 1")
  const url = URL.parse(callUrl)
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  if (isWeb && !url.username && !url.password && callUrl.length <= urlCharactersMax) return
  const length = `at most ${urlCharactersMax} characters`
  const requirement = `must start with https:// or http:// and have ${length}`
  throw invalidError("quota.call_url_invalid", `call_url ${requirement}`)
}

function validateQuota({ intervalMs, amount, from, notifications = [] }: QuotaInput): void {
  if (intervalMs < minuteMs) {
    throw invalidError("quota.interval_invalid", "reset_interval must be at least one minute")
  }
  if (!Number.isSafeInteger(amount) || amount < 1) {
    throw invalidError("quota.amount_invalid", "amount must be at least 1")
  }
  if (!Number.isSafeInteger(from)) throw invalidError("quota.from_invalid", "from is out of range")
  if (notifications.length > notificationsMax) {
    throw invalidError(
      "quota.too_many",
      `a quota can have at most ${notificationsMax} notifications`,
    )
  }
  for (const each of notifications) validateNotification(each)
}

const isSame = (left: Quota, right: Quota) =>
  left.from === right.from &&
  left.intervalMs === right.intervalMs &&
  left.amount === right.amount &&
  left.limit === right.limit &&
  JSON.stringify(left.notifications ?? []) === JSON.stringify(right.notifications ?? [])

const unchangedError = (subject: string) =>
  new Fault(
    "failed_precondition",
    `${subject}.unchanged`,
    "nothing to update: the values are unchanged",
  )

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
