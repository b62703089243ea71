import { aggregate, type Event } from "../../store/index.ts"

/** What is counted. Nothing runs actions yet, so of the second only the quota itself is kept. */
export type Unit = "requests.all.authenticated" | "actions.all.runs.seconds"

/** So much of a unit in each period; times are ms UTC, and periods follow one another. */
export type Quota = {
  readonly from: number
  readonly intervalMs: number
  readonly amount: number
  /** Whether what goes beyond is refused. */
  readonly limit: boolean
  /** Who is told when so much of it is used; absent where nobody is. */
  readonly notifications?: readonly Notification[]
}

export type Notification = {
  /** Of the amount; 1 or more. */
  readonly percent: number
  /** Whether it is told again at each multiple. */
  readonly repeat: boolean
  readonly callUrl: string
}

export type QuotaEvent =
  | Event<"quota.set", Quota & { readonly unit: Unit }>
  | Event<"quota.removed", { readonly unit: Unit }>

type QuotaState = { readonly quota?: Quota }

const none: QuotaState = {}

/** The quota of one unit; the id is the unit. */
export const quota = aggregate<QuotaEvent, QuotaState>({
  stream: "quota",
  initial: none,
  evolve: {
    "quota.set": (_, { data: { unit: __, ...quota } }) => ({ quota }),
    "quota.removed": () => none,
  },
})

export type UsageEvent =
  | Event<"quota.usage.counted", { readonly count: number; readonly ends: number }>
  | Event<"quota.notificationdue", Due>

/** That `threshold`, in percent, is reached; times are ms UTC. */
export type Due = {
  /** Which notification of the quota it is. */
  readonly id: string
  readonly unit: Unit
  readonly callUrl: string
  readonly periodStart: number
  readonly threshold: number
  readonly usage: number
}

/** How much was used in a period, which ends at `ends`, ms UTC. */
export type Usage = {
  readonly count: number
  readonly ends: number
  /** The highest threshold that was told, by the id of the notification. */
  readonly told: Readonly<Record<string, number>>
}

/** What was counted in one period of one unit; it goes with its period. */
export const usage = aggregate<UsageEvent, Usage>({
  stream: "quota_usage",
  retention: "transient",
  revision: 2,
  initial: { count: 0, ends: 0, told: {} },
  expires: ({ ends }) => ends,
  evolve: {
    "quota.usage.counted": (state, { data }) => ({ ...state, ...data }),
    "quota.notificationdue": (state, { data: { id, threshold } }) => ({
      ...state,
      told: { ...state.told, [id]: threshold },
    }),
  },
})

export type Limits = {
  /** How long the records of what happened are shown, and audits kept, in seconds. */
  readonly auditLogRetention?: number
  /** Whether the instance answers nobody but who manages it. */
  readonly block?: boolean
}

/** What the pages of an instance leave out; an empty list allows every language. */
export type Restrictions = {
  readonly disallowPublicOrgRegistration: boolean
  /** Best first. */
  readonly allowedLanguages: readonly string[]
}

export type RestrictionsEvent = Event<"restrictions.set", Partial<Restrictions>>

/** The restrictions of the instance; the id is its own. */
export const restrictions = aggregate<RestrictionsEvent, Restrictions>({
  stream: "restrictions",
  revision: 1,
  // Whoever has an organisation words its mails, and sends them by the instance's server.
  initial: { disallowPublicOrgRegistration: true, allowedLanguages: [] },
  evolve: { "restrictions.set": (state, { data }) => ({ ...state, ...data }) },
})

export type LimitsEvent = Event<"limits.set", Limits> | Event<"limits.reset">

/** The limits of the instance; the id is its own. */
export const limits = aggregate<LimitsEvent, Limits>({
  stream: "limits",
  initial: {},
  evolve: {
    "limits.set": (state, { data }) => ({ ...state, ...data }),
    "limits.reset": () => ({}),
  },
})
