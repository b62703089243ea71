import { aggregate, type Event, type Transaction } from "../../store/index.ts"
import { limits, lockByTries, lockMax, locksUser, withAnother } from "./limits.ts"

export type LockoutEvent =
  | Event<"user.human.password.lockout.counted">
  | Event<"user.human.password.lockout.cleared">

/** Wrong passwords in a row, whatever the device and the spelling; `last` is ms UTC. */
export type FailedTries = { readonly failures: number; readonly last: number }

const limit = limits.wrongPasswordsOfUser
const keptMs = limit.window.ms

/** Counted only where a policy locks; whoever tries once a day gets no further by being patient. */
export const failedTries = aggregate<LockoutEvent, FailedTries>({
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

/** Counts a wrong password, and locks its user where the policy of their organisation says so. */
export function countFailedTry(tx: Transaction, id: string): void {
  if (lockMax(tx, id, limit) === 0) return
  tx.append(failedTries, id, [{ type: "user.human.password.lockout.counted", data: {} }])
  if (!locksUser(tx, id, limit, tx.state(failedTries, id).failures)) return
  lockByTries(tx, id)
  forgetFailedTries(tx, id)
}

/** The next wrong password is the first again. */
export function forgetFailedTries(tx: Transaction, id: string): void {
  if (tx.state(failedTries, id).failures === 0) return
  tx.append(failedTries, id, [{ type: "user.human.password.lockout.cleared", data: {} }])
}
