import { Fault } from "../../kernel/fault.ts"
import { type Cx, cached, ofInstance } from "../../store/index.ts"
import {
  type Due,
  limits,
  type Notification,
  type Quota,
  quota,
  type Usage,
  usage,
} from "./model.ts"

const unit = "requests.all.authenticated"

/** What is counted of the period that runs, in memory. */
type Counter = {
  /** The stream of the period; empty where none has begun. */
  period: string
  count: number
  /** What the store said has been told. */
  told: Usage["told"]
  /** How much of it the store knows, and since when, ms UTC. */
  kept: number
  keptAt: number
}

const counters = ofInstance(
  (): Counter => ({
    period: "",
    count: 0,
    told: {},
    kept: 0,
    keptAt: 0,
  }),
)

const quotaOf = cached((cx) => cx.store.state(cx, quota, unit).quota, ["quota"])

/** So much of the amount at most is lost when the process dies, and never more than `keepAfter`. */
const lostShare = 100
const keepAfter = 100
const keepEveryMs = 60_000

/**
 * Counts a request of somebody who is known, where the instance has a quota for that. It is counted
 * in memory and written now and then. Refuses what goes beyond, where the quota is a limit.
 */
export async function countRequest(cx: Cx): Promise<void> {
  const asked = quotaOf(cx)
  const now = cx.clock.now()
  if (!asked || now < asked.from) return
  // Of several processes that share a file one counts for all.
  if (cx.store.worker) return cx.store.worker.writer.count(cx.instance)
  const counter = counters(cx)
  const { period, begins, ends } = periodOf(asked, now)
  if (counter.period !== period) {
    const { count, told } = cx.store.state(cx, usage, period)
    Object.assign(counter, { period, count, told, kept: count, keptAt: now })
  }
  if (asked.limit && counter.count >= asked.amount) throw usedUpError(ends - now)
  counter.count++
  const isTold = dueOf(asked, counter).length > 0
  const due = Math.max(1, Math.min(keepAfter, Math.floor(asked.amount / lostShare)))
  const isSoon = counter.count - counter.kept < due && now - counter.keptAt < keepEveryMs
  if (isSoon && !isTold) return
  const { count } = counter
  Object.assign(counter, { kept: count, keptAt: now })
  await keep(cx, period, { count, begins, ends, asked })
  if (isTold && counter.period === period) counter.told = cx.store.state(cx, usage, period).told
}

type Kept = {
  readonly count: number
  readonly begins: number
  readonly ends: number
  readonly asked: Quota
}

/** Writes what was counted, and who has to be told of it now. */
const keep = usage.command<Kept>((state, { count, begins, ends, asked }) => {
  if (count <= state.count) return []
  const due = dueOf(asked, { count, told: state.told })
  return [
    { type: "quota.usage.counted", data: { count, ends } },
    ...due.map((each) => ({
      type: "quota.notificationdue" as const,
      data: { ...each, unit, periodStart: begins, usage: count } satisfies Due,
    })),
  ]
})

type Reached = Pick<Due, "id" | "callUrl" | "threshold">

/** Thresholds that are reached and have not been told; of several of one the highest. */
function dueOf(
  { amount, notifications = [] }: Quota,
  { count, told }: Pick<Usage, "count" | "told">,
): readonly Reached[] {
  return notifications.flatMap((each) => {
    const times = Math.floor((count * 100) / (amount * each.percent))
    const threshold = each.percent * (each.repeat ? times : Math.min(times, 1))
    const id = idOf(each)
    const { callUrl } = each
    return threshold > (told[id] ?? 0) ? [{ id, callUrl, threshold }] : []
  })
}

/** The same as long as the notification is the same, also where a quota is set anew. */
const idOf = ({ percent, repeat, callUrl }: Notification): string =>
  `${percent}${repeat ? " repeated" : ""} ${callUrl}`

/** The stream of the period at `now`. A changed quota begins to count anew. */
function periodOf({ from, intervalMs }: Quota, now: number) {
  const begins = from + Math.floor((now - from) / intervalMs) * intervalMs
  return { period: `${unit}/${begins}/${intervalMs}`, begins, ends: begins + intervalMs }
}

const usedUpError = (ms: number) =>
  new Fault(
    "resource_exhausted",
    "quota.used_up",
    "the requests of this period are used up; try again in the next one",
    { retryAfterSeconds: Math.ceil(ms / 1000) },
  )

const limitsOf = cached((cx) => cx.store.state(cx, limits, cx.instance), ["limits"])

/** Whether the instance answers nobody but who manages it. */
export const isBlocked = (cx: Cx): boolean => limitsOf(cx).block === true

/** What everybody else gets who asks a blocked instance. */
export const blockedError = (): Fault =>
  new Fault(
    "resource_exhausted",
    "limits.blocked",
    "this instance is blocked; whoever runs the service can lift that",
  )

/** How long what happened is shown, and audits kept, in seconds; undefined: as the process says. */
export const auditLogRetention = (cx: Cx): number | undefined => limitsOf(cx).auditLogRetention
