import { Fault } from "../../kernel/fault.ts"
import { type Limits, limits, type Notification, type Quota, quota, type Unit } from "./model.ts"

type Given = Quota & { readonly unit: Unit }

const minuteMs = 60_000

/** Says for the first time how much of a unit may be used. */
export const addQuota = quota.command<Given>((state, given) => {
  check(given)
  if (state.quota) {
    throw new Fault(
      "already_exists",
      "quota.exists",
      "there is a quota for this unit already; set it to change it",
    )
  }
  return [{ type: "quota.set", data: given }]
})

type Change = {
  readonly unit: Unit
  /** What is to be so, by what is so. */
  readonly say: (before: Quota | undefined) => Quota
}

/** Says how much of a unit may be used. Refuses what changes nothing. */
export const setQuota = quota.command<Change>((state, { unit, say }) => {
  const wanted = say(state.quota)
  check({ unit, ...wanted })
  if (state.quota && isSame(state.quota, wanted)) throw unchangedError("quota")
  return [{ type: "quota.set", data: { unit, ...wanted } }]
})

/** Lifts a quota. */
export const removeQuota = quota.command<Unit>((state, unit) => {
  if (!state.quota) {
    throw new Fault("not_found", "quota.missing", "there is no quota for this unit")
  }
  return [{ type: "quota.removed", data: { unit } }]
})

/** Limits the instance; what is not given stays. Refuses what changes nothing. */
export const setLimits = limits.command<Limits>((state, given) => {
  checkLimits(given)
  const { auditLogRetention = state.auditLogRetention, block = state.block } = given
  if (auditLogRetention === state.auditLogRetention && block === state.block) {
    throw unchangedError("limits")
  }
  return [{ type: "limits.set", data: given }]
})

/** Lifts all limits. Refuses where there are none. */
export const resetLimits = limits.command((state) => {
  if (Object.keys(state).length === 0) throw unchangedError("limits")
  return [{ type: "limits.reset", data: {} }]
})

/** Refuses limits that say nothing, or what nobody can mean. */
export function checkLimits({ auditLogRetention, block }: Limits): void {
  if (auditLogRetention === undefined && block === undefined) {
    throw invalidError("limits.empty", "say what to limit: audit_log_retention, block, or both")
  }
  if (auditLogRetention !== undefined && !(auditLogRetention >= 0)) {
    throw invalidError("limits.retention_invalid", "audit_log_retention must not be negative")
  }
}

const notificationsMax = 20
const addressMax = 200

function checkNotification({ percent, callUrl }: Notification): void {
  if (percent < 1) throw invalidError("quota.percent_invalid", "percent must be 1 at least")
  const url = URL.parse(callUrl)
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  if (isWeb && !url.username && !url.password && callUrl.length <= addressMax) return
  const wanted = `must begin with https:// or http:// and have at most ${addressMax} characters`
  throw invalidError("quota.call_url_invalid", `call_url ${wanted}`)
}

function check({ intervalMs, amount, from, notifications = [] }: Given): void {
  if (intervalMs < minuteMs) {
    throw invalidError("quota.interval_invalid", "reset_interval must be a minute at least")
  }
  if (!Number.isSafeInteger(amount) || amount < 1) {
    throw invalidError("quota.amount_invalid", "amount must be 1 at least")
  }
  if (!Number.isSafeInteger(from)) throw invalidError("quota.from_invalid", "from is out of range")
  if (notifications.length > notificationsMax) {
    throw invalidError("quota.too_many", `a quota has at most ${notificationsMax} notifications`)
  }
  for (const each of notifications) checkNotification(each)
}

const isSame = (left: Quota, right: Quota) =>
  left.from === right.from &&
  left.intervalMs === right.intervalMs &&
  left.amount === right.amount &&
  left.limit === right.limit &&
  JSON.stringify(left.notifications ?? []) === JSON.stringify(right.notifications ?? [])

const unchangedError = (what: string) =>
  new Fault("failed_precondition", `${what}.unchanged`, "no changes: it is so already")

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
