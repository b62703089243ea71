import { Fault } from "../../../kernel/fault.ts"
import { aggregate, type Draft, type Event, type Transaction } from "../../../store/index.ts"
import type { CodeFor } from "./code.ts"

export type CodeCountEvent =
  | Event<"user.human.email.code.requested">
  | Event<"user.human.phone.code.requested">
  | Event<"user.human.invite.code.requested">
  | Event<"user.human.email.verification.failed">
  | Event<"user.human.phone.verification.failed">
  | Event<"user.human.invite.check.failed">

/** What was tried within an hour from `since`, ms UTC. */
export type CodeCount = {
  readonly since: number
  readonly requested: number
  readonly failed: number
}

const hour = 3_600_000

/** Within an hour, of one person and for one purpose, however many codes are made meanwhile. */
export const codeLimits = { requested: 10, failed: 10 } as const

type Counted = keyof typeof codeLimits

/**
 * Codes that were asked for and wrong ones that were tried, apart from the user's own stream: that
 * one is kept forever, these only as long as they count.
 */
export const codeCount = aggregate<CodeCountEvent, CodeCount>({
  stream: "code_count",
  retention: "transient",
  expires: ({ since }) => since + hour,
  initial: { since: 0, requested: 0, failed: 0 },
  evolve: {
    "user.human.email.code.requested": (state, event) => another(state, event, "requested"),
    "user.human.phone.code.requested": (state, event) => another(state, event, "requested"),
    "user.human.invite.code.requested": (state, event) => another(state, event, "requested"),
    "user.human.email.verification.failed": (state, event) => another(state, event, "failed"),
    "user.human.phone.verification.failed": (state, event) => another(state, event, "failed"),
    "user.human.invite.check.failed": (state, event) => another(state, event, "failed"),
  },
})

function another(state: CodeCount, { time }: { readonly time: number }, what: Counted): CodeCount {
  const current = time < state.since + hour ? state : { since: time, requested: 0, failed: 0 }
  return { ...current, [what]: current[what] + 1 }
}

/** Counts a code that is asked for, by which somebody is written to; refuses one too many. */
export function countRequest(tx: Transaction, userId: string, of: CodeFor): void {
  mustBeFew(tx, { userId, of, what: "requested" })
  count(tx, userId, { of, type: `user.human.${of}.code.requested` })
}

/** Refuses to look at a code where too many wrong ones were tried; asked within the same step. */
export const mayTryCode = (tx: Transaction, userId: string, of: CodeFor): void =>
  mustBeFew(tx, { userId, of, what: "failed" })

/** Counts a wrong code. */
export const countFailure = (tx: Transaction, userId: string, of: CodeFor): void =>
  count(tx, userId, { of, type: failures[of] })

const failures = {
  email: "user.human.email.verification.failed",
  phone: "user.human.phone.verification.failed",
  invite: "user.human.invite.check.failed",
} as const

const idOf = (userId: string, of: CodeFor): string => `${of}/${userId}`

function count(
  tx: Transaction,
  userId: string,
  { of, type }: { readonly of: CodeFor; readonly type: CodeCountEvent["type"] },
): void {
  const counted: Draft<CodeCountEvent> = { type, data: {} }
  tx.append(codeCount, idOf(userId, of), [counted])
}

function mustBeFew(
  tx: Transaction,
  asked: { readonly userId: string; readonly of: CodeFor; readonly what: Counted },
): void {
  const state = tx.state(codeCount, idOf(asked.userId, asked.of))
  const until = state.since + hour
  if (tx.now >= until || state[asked.what] < codeLimits[asked.what]) return
  const what = asked.what === "failed" ? "wrong codes were tried" : "codes were asked for"
  throw new Fault("resource_exhausted", "user.too_many_codes", `too many ${what}; wait an hour`, {
    retryAfterSeconds: Math.ceil((until - tx.now) / 1000),
  })
}
