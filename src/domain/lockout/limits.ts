import { isOpenWindow } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import type { DecisionContext, Transaction } from "../../store/index.ts"
import { lockout, policyFor } from "../policy/index.ts"
import { isAbsent, isOnlyOwner, user } from "../user-model/index.ts"

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const yearMs = 365 * dayMs

/**
 * All limits against guessing and flooding. `window` is how long counts add up, in ms from the
 * first or the last event; if absent, over the lifetime of the code. `max` is the number allowed,
 * or the field of the lockout policy with that number (0: unlimited). `action` is what happens
 * beyond it:
 * - `delay`: attempts run one at a time, and each further `max` adds delay
 * - `lock`: the user is locked until an administrator unlocks the user
 * - `refuse`: requests are rejected until the window ends
 * - `require the link`: the code is accepted only with the key of its link
 * - `ignore the key`: the key of the link no longer bypasses the limits on wrong codes
 * - `forget`: the oldest entry is no longer listed
 */
export const limits = {
  /** Consecutive failures per account and device; passwords are never rejected permanently. */
  wrongPasswords: { window: { from: "last", ms: 15 * minuteMs }, max: 5, action: "delay" },
  /**
   * Consecutive failures per user, from all devices; the long window also covers one attempt a day.
   */
  wrongPasswordsOfUser: {
    window: { from: "last", ms: yearMs },
    max: "maxPasswordAttempts",
    action: "lock",
  },
  /**
   * Per user, over all second factors and passkeys. At any time 3 in 1,000,000 authenticator app
   * codes are valid: an attacker who has the password succeeds within a year with a chance of 1 in
   * 30.
   */
  wrongFactorsInHour: { window: { from: "first", ms: hourMs }, max: 10, action: "refuse" },
  wrongFactorsInDay: { window: { from: "first", ms: dayMs }, max: 30, action: "refuse" },
  wrongFactorsInRow: {
    window: { from: "last", ms: yearMs },
    max: "maxOtpAttempts",
    action: "lock",
  },
  /** Per user and purpose, regardless of how many codes are created. */
  codeRequests: { window: { from: "first", ms: hourMs }, max: 10, action: "refuse" },
  /** Per caller, so that one caller's failures don't lock out others. */
  wrongCodesOfCaller: { window: { from: "first", ms: hourMs }, max: 10, action: "refuse" },
  /** Over all callers, which limits guessing in total. */
  wrongCodes: { window: { from: "first", ms: hourMs }, max: 100, action: "refuse" },
  /** For codes below 28 bits, because attackers can use many addresses. */
  wrongWeakCodes: { window: { from: "first", ms: hourMs }, max: 20, action: "refuse" },
  /** Per code, over its lifetime, without the key of its link. */
  wrongCodesForCode: { max: 100, action: "require the link" },
  /** Per code, over its lifetime, with the key of its link. */
  wrongCodesWithKey: { max: 50, action: "ignore the key" },
  /** Listed failed sign-ins per account and device. */
  listedPasswords: { window: { from: "last", ms: dayMs }, max: 50, action: "forget" },
  /** Per user. */
  listedFactors: { window: { from: "last", ms: yearMs }, max: 50, action: "forget" },
} as const satisfies Readonly<Record<string, Limit>>

type LockField = keyof typeof lockout.standard
type Window = { readonly from: "first" | "last"; readonly ms: number }

type Limit = {
  readonly window?: Window
  readonly max: number | LockField
  readonly action: "delay" | "lock" | "refuse" | "require the link" | "ignore the key" | "forget"
}

type WithWindow = { readonly window: Window }
type RefusingLimit = WithWindow & { readonly max: number; readonly action: "refuse" }
type LockingLimit = WithWindow & { readonly max: LockField; readonly action: "lock" }
type CodeLimit = { readonly max: number; readonly action: "require the link" | "ignore the key" }

/** Counts until a success; discards counts with a time in the future. */
export const untilSuccess = {
  window: { from: "last", ms: Number.POSITIVE_INFINITY },
} as const satisfies WithWindow

/** A count; `at` is the time of the first or last event, depending on the window, ms UTC. */
export type Count = { readonly at: number; readonly count: number }

/** Whether the window of a count is still open. */
export const isCounting = ({ window }: WithWindow, at: number, now: number): boolean =>
  isOpenWindow(at, window.ms, now)

/** The count within an open window, otherwise 0. */
export const countAt = (limit: WithWindow, { at, count }: Count, now: number): number =>
  isCounting(limit, at, now) ? count : 0

/** The count after one more event at this time. */
export function withAnother(limit: WithWindow, before: Count, now: number): Count {
  if (!isCounting(limit, before.at, now)) return { at: now, count: 1 }
  return { at: limit.window.from === "last" ? now : before.at, count: before.count + 1 }
}

type LimitCounts = readonly (readonly [limit: RefusingLimit, count: Count])[]

/** Whether a limit is reached. */
export const isReached = (limit: RefusingLimit, count: Count, now: number): boolean =>
  countAt(limit, count, now) >= limit.max

/** Whether a code's limit of failures over its lifetime is reached. */
export const isCodeLimitReached = ({ max }: CodeLimit, count: number): boolean => count >= max

/** Throws while a limit is reached, with the seconds until none is. */
export function rejectIfReached(
  { now }: Pick<DecisionContext, "now">,
  counts: LimitCounts,
  { id, message }: { readonly id: string; readonly message: string },
): void {
  const ends = counts
    .filter(([limit, count]) => isReached(limit, count, now))
    .map(([{ window }, { at }]) => at + window.ms)
  if (ends.length === 0) return
  const retryAfterSeconds = Math.ceil((Math.max(...ends) - now) / 1000)
  throw new Fault("resource_exhausted", id, message, { retryAfterSeconds })
}

/** Number of failures that lock a user by the organization's policy; 0 if none do. */
export function lockThreshold(tx: Transaction, userId: string, { max }: LockingLimit): number {
  const state = tx.state(user, userId)
  if (isAbsent(state) || state.kind !== "human" || state.status !== "active") return 0
  return policyFor(tx, { userId, orgId: tx.owner(user, userId) }, lockout)[max]
}

/**
 * Whether this number of failures locks a user. The last instance administrator is throttled but
 * never locked, because any stranger could cause that and no one could undo it.
 */
export const shouldLock = (tx: Transaction, userId: string, limit: LockingLimit, count: number) => {
  const max = lockThreshold(tx, userId, limit)
  return max > 0 && count >= max && !isOnlyOwner(tx, userId)
}

/** Locks a user after too many failures; the event has no editor. */
export const lockAfterFailures = (tx: Transaction, userId: string): void =>
  tx.append(user, userId, [{ type: "user.locked", data: { isByTries: true } }])
