import { aggregate, type Event, type Transaction } from "../../store/index.ts"
import { limits, lockAfterFailures, lockThreshold, shouldLock, withAnother } from "./limits.ts"

export type LockoutEvent =
  | Event<"user.human.password.lockout.counted">
  | Event<"user.human.password.lockout.cleared">

/** Consecutive wrong passwords, regardless of device and spelling; `last` is ms UTC. */
export type FailedAttempts = { readonly failures: number; readonly last: number }

const limit = limits.wrongPasswordsOfUser
const keptMs = limit.window.ms

/** Counted only if a policy locks users. Kept long, so that one guess a day is still counted. */
export const failedAttempts = aggregate<LockoutEvent, FailedAttempts>({
  stream: "lockout",
  retention: "transient",
  expires: ({ last }) => last + keptMs,
  initial: { failures: 0, last: 0 },
  evolve: {
    "user.human.password.lockout.counted": ({ failures, last }, { time }) => {
      const next = withAnother(limit, { at: last, count: failures }, time)
      return { failures: next.count, last: next.at }
    },
    "user.human.password.lockout.cleared": () => ({ failures: 0, last: -keptMs }),
  },
})

/** Counts a wrong password, and locks the user if the policy of the organization requires it. */
export function countFailedAttempt(tx: Transaction, id: string): void {
  if (lockThreshold(tx, id, limit) === 0) return
  tx.append(failedAttempts, id, [{ type: "user.human.password.lockout.counted", data: {} }])
  if (!shouldLock(tx, id, limit, tx.state(failedAttempts, id).failures)) return
  lockAfterFailures(tx, id)
  resetFailedAttempts(tx, id)
}

/** Resets the count. */
export function resetFailedAttempts(tx: Transaction, id: string): void {
  if (tx.state(failedAttempts, id).failures === 0) return
  tx.append(failedAttempts, id, [{ type: "user.human.password.lockout.cleared", data: {} }])
}
