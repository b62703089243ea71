import { isOpenWindow } from "../../../kernel/clock.ts"
import { Fault } from "../../../kernel/fault.ts"
import {
  aggregate,
  type ClaimChange,
  type Draft,
  type Event,
  type Transaction,
} from "../../../store/index.ts"
import type { CodeFor } from "./code.ts"

/** What wrong codes are counted for, apart from those of second factors. */
type TriedFor = CodeFor | "magic_link"

/** What codes are counted for: each that proves something, and those that a sign-in asks for. */
export type CodePurpose = TriedFor | "otp_email" | "otp_sms"

/** The events of a code that is asked for, and of a wrong one; of one-time codes others count. */
const requests = {
  email: "user.human.email.code.requested",
  phone: "user.human.phone.code.requested",
  invite: "user.human.invite.code.requested",
  password: "user.human.password.code.requested",
  passkey: "user.human.passwordless.initialization.code.requested",
  magic_link: "user.human.magic_link.requested",
  otp_email: "user.human.mfa.otp.email.code.requested",
  otp_sms: "user.human.mfa.otp.sms.code.requested",
} as const satisfies Readonly<Record<CodePurpose, string>>

const failures = {
  email: "user.human.email.verification.failed",
  phone: "user.human.phone.verification.failed",
  invite: "user.human.invite.check.failed",
  password: "user.human.password.code.check.failed",
  passkey: "user.human.passwordless.initialization.code.check.failed",
  magic_link: "user.human.magic_link.check.failed",
} as const satisfies Readonly<Record<TriedFor, string>>

type RequestedType = (typeof requests)[CodePurpose]
type FailedType = (typeof failures)[TriedFor]

export type CodeCountEvent =
  | { [Type in RequestedType]: Event<Type> }[RequestedType]
  | { [Type in FailedType]: Event<Type> }[FailedType]
  /** It takes what makes a link good once. */
  | Event<"user.human.magic_link.check.succeeded">

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
    "user.human.email.code.requested": another("requested"),
    "user.human.phone.code.requested": another("requested"),
    "user.human.invite.code.requested": another("requested"),
    "user.human.password.code.requested": another("requested"),
    "user.human.passwordless.initialization.code.requested": another("requested"),
    "user.human.magic_link.requested": another("requested"),
    "user.human.mfa.otp.email.code.requested": another("requested"),
    "user.human.mfa.otp.sms.code.requested": another("requested"),
    "user.human.email.verification.failed": another("failed"),
    "user.human.phone.verification.failed": another("failed"),
    "user.human.invite.check.failed": another("failed"),
    "user.human.password.code.check.failed": another("failed"),
    "user.human.passwordless.initialization.code.check.failed": another("failed"),
    "user.human.magic_link.check.failed": another("failed"),
    "user.human.magic_link.check.succeeded": (state) => state,
  },
})

function another(what: Counted) {
  return (state: CodeCount, { time }: { readonly time: number }): CodeCount => {
    const current = isOpenWindow(state.since, hour, time)
      ? state
      : { since: time, requested: 0, failed: 0 }
    return { ...current, [what]: current[what] + 1 }
  }
}

/** Counts a code that is asked for, by which somebody is written to; refuses one too many. */
export function countRequest(tx: Transaction, userId: string, of: CodePurpose): void {
  mustBeFew(tx, { userId, of, what: "requested" })
  count(tx, userId, { of, type: requests[of] })
}

/** Whether one more would be too many; for who must not be told, nor kept waiting, by that. */
export const isRequestedOften = (tx: Transaction, userId: string, of: CodePurpose): boolean => {
  const { since, requested } = tx.state(codeCount, idOf(userId, of))
  return isOpenWindow(since, hour, tx.now) && requested >= codeLimits.requested
}

/** Refuses to look at a code where too many wrong ones were tried; asked within the same step. */
export const mayTryCode = (tx: Transaction, userId: string, of: TriedFor): void =>
  mustBeFew(tx, { userId, of, what: "failed" })

/** Counts a wrong code. */
export const countFailure = (tx: Transaction, userId: string, of: TriedFor): void =>
  count(tx, userId, { of, type: failures[of] })

/** Notes that a link let its person in; `used` takes what it is known by: it was good once. */
export function countLinkUsed(tx: Transaction, userId: string, used: ClaimChange): void {
  const type = "user.human.magic_link.check.succeeded"
  tx.append(codeCount, idOf(userId, "magic_link"), [{ type, data: {}, claims: [used] }])
}

const idOf = (userId: string, of: CodePurpose): string => `${of}/${userId}`

function count(
  tx: Transaction,
  userId: string,
  { of, type }: { readonly of: CodePurpose; readonly type: CodeCountEvent["type"] },
): void {
  const counted: Draft<CodeCountEvent> = { type, data: {} }
  tx.append(codeCount, idOf(userId, of), [counted])
}

function mustBeFew(
  tx: Transaction,
  asked: { readonly userId: string; readonly of: CodePurpose; readonly what: Counted },
): void {
  const state = tx.state(codeCount, idOf(asked.userId, asked.of))
  const until = state.since + hour
  if (!isOpenWindow(state.since, hour, tx.now) || state[asked.what] < codeLimits[asked.what]) return
  const what = asked.what === "failed" ? "wrong codes were tried" : "codes were asked for"
  throw new Fault("resource_exhausted", "user.too_many_codes", `too many ${what}; wait an hour`, {
    retryAfterSeconds: Math.ceil((until - tx.now) / 1000),
  })
}
