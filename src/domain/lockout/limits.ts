import { isOpenWindow } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Decision, Transaction } from "../../store/index.ts"
import { lockout, policyFor } from "../policy/index.ts"
import { hasLeft, isOnlyOwner, user } from "../user-model/index.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const year = 365 * day

/**
 * Everything that is counted against guessing and flooding. `window` is how long counts add up, in
 * ms from the first or from the last of them; codes are counted over their life where it is absent.
 * `max` is how many pass, here or in the lockout policy that applies to the user (0: any number).
 * `action` is what happens from then on:
 *
 * - `delay`: tries are looked at one by one, and slower with each further `max`
 * - `lock`: the user is locked until an administrator unlocks them
 * - `refuse`: nothing is looked at, made or sent until the window is over
 * - `require the link`: the code is wrong unless its link's key comes with it
 * - `ignore the key`: the key of the link no longer lifts the limits on wrong codes
 * - `forget`: the earliest is no longer listed
 */
export const limits = {
  /** In a row, of an account and a device: a password is never refused for good. */
  wrongPasswords: { window: { from: "last", ms: 15 * minute }, max: 5, action: "delay" },
  /** In a row, of a user, from all devices: whoever tries once a day gets no further. */
  wrongPasswordsOfUser: {
    window: { from: "last", ms: year },
    max: "maxPasswordAttempts",
    action: "lock",
  },
  /**
   * Of a user, second factors and passkeys of all kinds. Of the codes of an authenticator app three
   * in a million are right at any time: within a year somebody who has the password gets in with
   * one in thirty.
   */
  wrongFactorsInHour: { window: { from: "first", ms: hour }, max: 10, action: "refuse" },
  wrongFactorsInDay: { window: { from: "first", ms: day }, max: 30, action: "refuse" },
  wrongFactorsInRow: { window: { from: "last", ms: year }, max: "maxOtpAttempts", action: "lock" },
  /** Of a user and a purpose, however many codes are made meanwhile. */
  codeRequests: { window: { from: "first", ms: hour }, max: 10, action: "refuse" },
  /** The same of one caller, whose failures keep nobody else out. */
  wrongCodesOfCaller: { window: { from: "first", ms: hour }, max: 10, action: "refuse" },
  /** The same of all callers, which ends what can be guessed. */
  wrongCodes: { window: { from: "first", ms: hour }, max: 100, action: "refuse" },
  /** Of codes below 28 bits: callers can take as many addresses as they pay for. */
  wrongWeakCodes: { window: { from: "first", ms: hour }, max: 20, action: "refuse" },
  /** Of one code, over its life, without the key of its link. */
  wrongCodesForCode: { max: 100, action: "require the link" },
  /** The same with the key. */
  wrongCodesWithKey: { max: 50, action: "ignore the key" },
  /** Failed sign-ins that are listed, of an account and a device. */
  listedPasswords: { window: { from: "last", ms: day }, max: 50, action: "forget" },
  /** Of a user. */
  listedFactors: { window: { from: "last", ms: year }, max: 50, action: "forget" },
} as const satisfies Readonly<Record<string, Limit>>

type LockField = keyof typeof lockout.standard
type Window = { readonly from: "first" | "last"; readonly ms: number }

type Limit = {
  readonly window?: Window
  readonly max: number | LockField
  readonly action: "delay" | "lock" | "refuse" | "require the link" | "ignore the key" | "forget"
}

type Windowed = { readonly window: Window }
type Refusing = Windowed & { readonly max: number; readonly action: "refuse" }
type Locking = Windowed & { readonly max: LockField; readonly action: "lock" }
type OfCode = { readonly max: number; readonly action: "require the link" | "ignore the key" }

/** Adds up until a right one comes; what a clock counted that was ahead is discarded. */
export const untilRight = {
  window: { from: "last", ms: Number.POSITIVE_INFINITY },
} as const satisfies Windowed

/** What was counted so far; `at` is when the first or the last was, as the window says, ms UTC. */
export type Count = { readonly at: number; readonly count: number }

/** Whether what was counted from a time on still counts. */
export const isCounting = ({ window }: Windowed, at: number, now: number): boolean =>
  isOpenWindow(at, window.ms, now)

/** How many still count. */
export const countAt = (limit: Windowed, { at, count }: Count, now: number): number =>
  isCounting(limit, at, now) ? count : 0

/** The same with one more, at this time. */
export function withAnother(limit: Windowed, before: Count, now: number): Count {
  if (!isCounting(limit, before.at, now)) return { at: now, count: 1 }
  return { at: limit.window.from === "last" ? now : before.at, count: before.count + 1 }
}

type Reached = readonly (readonly [limit: Refusing, count: Count])[]

/** Whether a limit is reached. */
export const isReached = (limit: Refusing, count: Count, now: number): boolean =>
  countAt(limit, count, now) >= limit.max

/** Whether so many wrong ones have reached the limit that a code has over its life. */
export const isReachedByCode = ({ max }: OfCode, count: number): boolean => count >= max

/** Refuses while one of the limits is reached, and names the seconds until none is. */
export function refuseAt(
  { now }: Pick<Decision, "now">,
  counts: Reached,
  { id, message }: { readonly id: string; readonly message: string },
): void {
  const ends = counts
    .filter(([limit, count]) => isReached(limit, count, now))
    .map(([{ window }, { at }]) => at + window.ms)
  if (ends.length === 0) return
  const retryAfterSeconds = Math.ceil((Math.max(...ends) - now) / 1000)
  throw new Fault("resource_exhausted", id, message, { retryAfterSeconds })
}

/** How many lock a user by the policy of their organization; 0 where none do. */
export function lockMax(tx: Transaction, userId: string, { max }: Locking): number {
  const state = tx.state(user, userId)
  if (hasLeft(state) || state.kind !== "human" || state.status !== "active") return 0
  return policyFor(tx, { userId, orgId: tx.owner(user, userId) }, lockout)[max]
}

/**
 * Whether so many lock a user. The last person who could administer the instance is slowed down as
 * everybody is, and never locked: any stranger could do that, and nobody could undo it.
 */
export const locksUser = (tx: Transaction, userId: string, limit: Locking, count: number) => {
  const max = lockMax(tx, userId, limit)
  return max > 0 && count >= max && !isOnlyOwner(tx, userId)
}

/** Locks a user whose limit is reached; nobody has decided it. */
export const lockByTries = (tx: Transaction, userId: string): void =>
  tx.append(user, userId, [{ type: "user.locked", data: { isByTries: true } }])
