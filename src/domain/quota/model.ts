import { aggregate, type Event } from "../../store/index.ts"

/** What a quota counts. Action run time is not counted yet; only its quota is stored. */
export type Unit = "requests.all.authenticated" | "actions.all.runs.seconds"

/**
 * The amount of a unit per period; times are in ms since the epoch, and periods follow one another.
 */
export type Quota = {
  readonly from: number
  readonly intervalMs: number
  readonly amount: number
  /** Whether requests above the amount are rejected. */
  readonly limit: boolean
  /** Notifications when a percentage is used; absent if there are none. */
  readonly notifications?: readonly Notification[]
}

export type Notification = {
  /** Percent of the amount; at least 1. */
  readonly percent: number
  /** Whether the notification is repeated at each multiple. */
  readonly repeat: boolean
  readonly callUrl: string
}

export type QuotaEvent =
  | Event<"quota.set", Quota & { readonly unit: Unit }>
  | Event<"quota.removed", { readonly unit: Unit }>

type QuotaState = { readonly quota?: Quota }

const noQuota: QuotaState = {}

/** The quota of one unit; the ID is the unit. */
export const quota = aggregate<QuotaEvent, QuotaState>({
  stream: "quota",
  initial: noQuota,
  evolve: {
    "quota.set": (_, { data: { unit: __, ...quota } }) => ({ quota }),
    "quota.removed": () => noQuota,
  },
})

export type UsageEvent =
  | Event<"quota.usage.counted", { readonly count: number; readonly ends: number }>
  | Event<"quota.notificationdue", DueNotification>

/** A notification for reaching `threshold`, in percent; times are in ms since the epoch. */
export type DueNotification = {
  /** The ID of the notification within the quota. */
  readonly id: string
  readonly unit: Unit
  readonly callUrl: string
  readonly periodStart: number
  readonly threshold: number
  readonly usage: number
}

/** The usage in a period, which ends at `ends`, in ms since the epoch. */
export type Usage = {
  readonly count: number
  readonly ends: number
  /** The highest threshold that was notified, by the ID of the notification. */
  readonly notified: Readonly<Record<string, number>>
}

/** The usage of one unit in one period; it is deleted after the period. */
export const usage = aggregate<UsageEvent, Usage>({
  stream: "quota_usage",
  retention: "transient",
  revision: 2,
  initial: { count: 0, ends: 0, notified: {} },
  expires: ({ ends }) => ends,
  evolve: {
    "quota.usage.counted": (state, { data }) => ({ ...state, ...data }),
    "quota.notificationdue": (state, { data: { id, threshold } }) => ({
      ...state,
      notified: { ...state.notified, [id]: threshold },
    }),
  },
})

export type Limits = {
  /** How long events are visible and audit records are kept, in seconds. */
  readonly auditLogRetention?: number
  /** Whether the instance is blocked for everyone except its administrators. */
  readonly block?: boolean
}

/** Restrictions of the pages of an instance; an empty list allows all languages. */
export type Restrictions = {
  readonly disallowPublicOrgRegistration: boolean
  /** In order of preference. */
  readonly allowedLanguages: readonly string[]
}

export type RestrictionsEvent = Event<"restrictions.set", Partial<Restrictions>>

/** The restrictions of the instance; the ID is that of the instance. */
export const restrictions = aggregate<RestrictionsEvent, Restrictions>({
  stream: "restrictions",
  revision: 1,
  // An organization writes its own emails and sends them through the instance's server.
  initial: { disallowPublicOrgRegistration: true, allowedLanguages: [] },
  evolve: { "restrictions.set": (state, { data }) => ({ ...state, ...data }) },
})

export type LimitsEvent = Event<"limits.set", Limits> | Event<"limits.reset">

/** The limits of the instance; the ID is that of the instance. */
export const limits = aggregate<LimitsEvent, Limits>({
  stream: "limits",
  initial: {},
  evolve: {
    "limits.set": (state, { data }) => ({ ...state, ...data }),
    "limits.reset": () => ({}),
  },
})
