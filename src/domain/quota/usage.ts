import { Fault } from "../../kernel/fault.ts"
import { type Cx, cacheQuery, perInstance } from "../../store/index.ts"
import {
  type DueNotification,
  limits,
  type Notification,
  type Quota,
  quota,
  type Usage,
  usage,
} from "./model.ts"

const unit = "requests.all.authenticated"

/** The in-memory counter of the current period. */
type Counter = {
  /** The stream of the period; empty before the first one. */
  period: string
  count: number
  /** The thresholds that the store has recorded as notified. */
  notified: Usage["notified"]
  /** The stored count, and when it was stored, in ms since the epoch. */
  storedCount: number
  storedAt: number
}

const counters = perInstance(
  (): Counter => ({
    period: "",
    count: 0,
    notified: {},
    storedCount: 0,
    storedAt: 0,
  }),
)

const quotaOf = cacheQuery((cx) => cx.store.state(cx, quota, unit).quota, ["quota"])

/** The share of the amount that can be lost if the process crashes; never more than `keepAfter`. */
const lossDivisor = 100
const storeAfterCount = 100
const storeIntervalMs = 60_000

/**
 * Counts an authenticated request if the instance has a quota for it. The count is kept in memory
 * and stored at intervals. Throws if the request exceeds a limiting quota.
 */
export async function countRequest(cx: Cx): Promise<void> {
  const currentQuota = quotaOf(cx)
  const now = cx.clock.now()
  if (!currentQuota || now < currentQuota.from) return
  // Of several processes that share a file, one counts the calls of all.
  if (cx.store.worker) return cx.store.worker.writer.count(cx.instance)
  const counter = counters(cx)
  const { period, begins, ends } = periodOf(currentQuota, now)
  if (counter.period !== period) {
    const { count, notified } = cx.store.state(cx, usage, period)
    Object.assign(counter, { period, count, told: notified, kept: count, keptAt: now })
  }
  if (currentQuota.limit && counter.count >= currentQuota.amount) throw usedUpError(ends - now)
  counter.count++
  const isTold = dueNotificationsOf(currentQuota, counter).length > 0
  const due = Math.max(1, Math.min(storeAfterCount, Math.floor(currentQuota.amount / lossDivisor)))
  const isSoon =
    counter.count - counter.storedCount < due && now - counter.storedAt < storeIntervalMs
  if (isSoon && !isTold) return
  const { count } = counter
  Object.assign(counter, { kept: count, keptAt: now })
  await storeCount(cx, period, { count, begins, ends, asked: currentQuota })
  if (isTold && counter.period === period)
    counter.notified = cx.store.state(cx, usage, period).notified
}

type StoreCountInput = {
  readonly count: number
  readonly begins: number
  readonly ends: number
  readonly asked: Quota
}

/** Stores the count and the notifications that are now due. */
const storeCount = usage.command<StoreCountInput>(
  (state, { count, begins, ends, asked: currentQuota }) => {
    if (count <= state.count) return []
    const due = dueNotificationsOf(currentQuota, { count, notified: state.notified })
    return [
      { type: "quota.usage.counted", data: { count, ends } },
      ...due.map((each) => ({
        type: "quota.notificationdue" as const,
        data: { ...each, unit, periodStart: begins, usage: count } satisfies DueNotification,
      })),
    ]
  },
)

type ReachedThreshold = Pick<DueNotification, "id" | "callUrl" | "threshold">

/** Thresholds that are reached but not notified yet; only the highest of each notification. */
function dueNotificationsOf(
  { amount, notifications = [] }: Quota,
  { count, notified }: Pick<Usage, "count" | "notified">,
): readonly ReachedThreshold[] {
  return notifications.flatMap((each) => {
    const times = Math.floor((count * 100) / (amount * each.percent))
    const threshold = each.percent * (each.repeat ? times : Math.min(times, 1))
    const id = idOf(each)
    const { callUrl } = each
    return threshold > (notified[id] ?? 0) ? [{ id, callUrl, threshold }] : []
  })
}

/** The ID of a notification, which stays the same when the quota is set again unchanged. */
const idOf = ({ percent, repeat, callUrl }: Notification): string =>
  `${percent}${repeat ? " repeated" : ""} ${callUrl}`

/** The stream of the period at `now`. A changed quota starts a new count. */
function periodOf({ from, intervalMs }: Quota, now: number) {
  const begins = from + Math.floor((now - from) / intervalMs) * intervalMs
  return { period: `${unit}/${begins}/${intervalMs}`, begins, ends: begins + intervalMs }
}

const usedUpError = (ms: number) =>
  new Fault(
    "resource_exhausted",
    "quota.used_up",
    "the request quota of this period is used up; try again in the next period",
    { retryAfterSeconds: Math.ceil(ms / 1000) },
  )

const limitsOf = cacheQuery((cx) => cx.store.state(cx, limits, cx.instance), ["limits"])

/** Whether the instance is blocked for everyone except its administrators. */
export const isBlocked = (cx: Cx): boolean => limitsOf(cx).block === true

/** The fault for all other requests to a blocked instance. */
export const blockedError = (): Fault =>
  new Fault(
    "resource_exhausted",
    "limits.blocked",
    "this instance is blocked; the operator of the service can unblock it",
  )

/**
 * How long events are visible and audit records are kept, in seconds; undefined for the default of
 * the process.
 */
export const auditLogRetention = (cx: Cx): number | undefined => limitsOf(cx).auditLogRetention
