import { isOpenWindow } from "../../kernel/clock.ts"
import { aggregate, type Event, type Transaction } from "../../store/index.ts"
import { lockout, policyFor } from "../policy/index.ts"
import { hasLeft, isOnlyOwner, user } from "../user-model/index.ts"

export type LockoutEvent =
  | Event<"user.human.password.lockout.counted">
  | Event<"user.human.password.lockout.cleared">

/** Wrong passwords in a row, whatever the device and the spelling; `last` is ms UTC. */
export type FailedTries = { readonly failures: number; readonly last: number }

const year = 365 * 86_400_000

/** Counted only where a policy locks; whoever tries once a day gets no further by being patient. */
export const failedTries = aggregate<LockoutEvent, FailedTries>({
  stream: "lockout",
  retention: "transient",
  expires: ({ last }) => last + year,
  initial: { failures: 0, last: 0 },
  evolve: {
    "user.human.password.lockout.counted": ({ failures, last }, { time }) => ({
      failures: isOpenWindow(last, year, time) ? failures + 1 : 1,
      last: time,
    }),
    "user.human.password.lockout.cleared": () => ({ failures: 0, last: -year }),
  },
})

/**
 * Counts a wrong password, and locks its user where the policy of their organisation says so. The
 * last person who could administer the instance is slowed down as everybody is, and never locked:
 * any stranger could do that, and nobody could undo it.
 */
export function countFailedTry(tx: Transaction, id: string): void {
  const state = tx.state(user, id)
  if (hasLeft(state) || state.kind !== "human" || state.status !== "active") return
  const { maxPasswordAttempts: max } = policyFor(
    tx,
    { userId: id, orgId: tx.owner(user, id) },
    lockout,
  )
  if (max === 0) return
  tx.append(failedTries, id, [{ type: "user.human.password.lockout.counted", data: {} }])
  if (tx.state(failedTries, id).failures < max || isOnlyOwner(tx, id)) return
  tx.append(user, id, [{ type: "user.locked", data: { isByTries: true } }])
  forgetFailedTries(tx, id)
}

/** The next wrong password is the first again. */
export function forgetFailedTries(tx: Transaction, id: string): void {
  if (tx.state(failedTries, id).failures === 0) return
  tx.append(failedTries, id, [{ type: "user.human.password.lockout.cleared", data: {} }])
}
