import { networkOf } from "../../kernel/net/address.ts"
import {
  aggregate,
  type ClaimChange,
  type Decision,
  type Draft,
  type Event,
  type Transaction,
} from "../../store/index.ts"
import { codeStrength } from "../policy/index.ts"
import { hasLeft, user } from "../user-model/index.ts"
import {
  type Count,
  isCounting,
  isReached,
  isReachedByCode,
  limits,
  refuseAt,
  withAnother,
} from "./limits.ts"

/** What a code proves the ownership of. */
export type CodeOf = "email" | "phone"

/**
 * What a code is for: to prove that, to come in for the first time, to choose a password, or to add
 * a passkey.
 */
export type CodeFor = CodeOf | "invite" | "password" | "passkey"

/** What codes are made of. */
export const codeGenerators = {
  email: "verify_email_code",
  phone: "verify_phone_code",
  invite: "init_code",
  password: "password_reset_code",
  passkey: "passwordless_init_code",
} as const

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
  | { [Type in FailedType]: Event<Type, FailedBy> }[FailedType]
  /** It takes what makes a link good once. */
  | Event<"user.human.magic_link.check.succeeded">

/** The code of a user that somebody tries to guess: a keyed hash, and when it expires, ms UTC. */
export type GuessedCode = { readonly id: string; readonly expires: number }

/** Events of earlier versions have none of these. */
type FailedBy = {
  /** Who has tried a wrong code, as a keyed hash. */
  readonly caller?: string
  /** Absent where the user had no code, and for links to sign in. */
  readonly code?: GuessedCode
  /** Whether they had the key of the link. */
  readonly hasKey?: boolean
}

/** What was tried within an hour from `since`, ms UTC; `by` each caller of whom that is known. */
export type CodeCount = {
  readonly since: number
  readonly requested: number
  readonly failed: number
  readonly by?: Readonly<Record<string, number>>
  /** Wrong codes over the life of the code that the user was made last. */
  readonly code?: GuessedCode & { readonly failed: number; readonly failedWithKey: number }
}

/** In bits: a hundred guesses an hour find one in 2.6 million of such codes. */
const strongMin = 28

/**
 * Codes that were asked for and wrong ones that were tried, apart from the user's own stream: that
 * one is kept forever, these only as long as they count.
 */
export const codeCount = aggregate<CodeCountEvent, CodeCount>({
  stream: "code_count",
  retention: "transient",
  expires: ({ since, code }) => Math.max(since + limits.codeRequests.window.ms, code?.expires ?? 0),
  revision: 2,
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
    "user.human.email.verification.failed": anotherFailed,
    "user.human.phone.verification.failed": anotherFailed,
    "user.human.invite.check.failed": anotherFailed,
    "user.human.password.code.check.failed": anotherFailed,
    "user.human.passwordless.initialization.code.check.failed": anotherFailed,
    "user.human.magic_link.check.failed": anotherFailed,
    "user.human.magic_link.check.succeeded": (state) => state,
  },
})

/** Requests and wrong codes share one window: that of the first of either. */
function another(what: "requested" | "failed") {
  return (state: CodeCount, { time }: { readonly time: number }): CodeCount => {
    const { since, code } = state
    const isOpen = isCounting(limits.codeRequests, since, time)
    const present = isOpen ? state : { requested: 0, failed: 0, ...(code && { code }) }
    const count = { at: since, count: present[what] }
    const next = withAnother(limits.codeRequests, count, time)
    return { since: next.at, ...present, [what]: next.count }
  }
}

function anotherFailed(
  state: CodeCount,
  event: { readonly time: number; readonly data: FailedBy },
): CodeCount {
  const { caller, code, hasKey = false } = event.data
  const counted = code ? { ...state, code: failedFor(state, code, hasKey) } : state
  if (hasKey) return counted
  const next = another("failed")(counted, event)
  if (caller === undefined) return next
  return { ...next, by: { ...next.by, [caller]: (next.by?.[caller] ?? 0) + 1 } }
}

function failedFor({ code: last }: CodeCount, code: GuessedCode, hasKey: boolean) {
  const none = { failed: 0, failedWithKey: 0 }
  const { failed, failedWithKey } = last?.id === code.id ? last : none
  return hasKey
    ? { ...code, failed, failedWithKey: failedWithKey + 1 }
    : { ...code, failed: failed + 1, failedWithKey }
}

/** Counts a code that is asked for, by which somebody is written to; refuses one too many. */
export function countRequest(tx: Transaction, userId: string, of: CodePurpose): void {
  refuseAt(tx, [[limits.codeRequests, requestsOf(tx, userId, of)]], {
    id: "user.too_many_codes",
    message: "too many codes were asked for; wait an hour",
  })
  const counted: Draft<CodeCountEvent> = { type: requests[of], data: {} }
  tx.append(codeCount, codeCountId(userId, of), [counted])
}

function requestsOf(tx: Transaction, userId: string, of: CodePurpose): Count {
  const { since, requested } = tx.state(codeCount, codeCountId(userId, of))
  return { at: since, count: requested }
}

/** Whether one more would be too many; for who must not be told, nor kept waiting, by that. */
export const isRequestedOften = (tx: Transaction, userId: string, of: CodePurpose): boolean =>
  isReached(limits.codeRequests, requestsOf(tx, userId, of), tx.now)

/**
 * Refuses to look at a code where too many wrong ones were tried by the same caller, or by all;
 * asked within the same step.
 */
export function mayTryCode(tx: Transaction, userId: string, of: TriedFor): void {
  const { since: at, failed, by } = tx.state(codeCount, codeCountId(userId, of))
  if (!isCounting(limits.wrongCodes, at, tx.now)) return
  const own = isServiceAccount(tx) ? 0 : (by?.[callerIn(tx)] ?? 0)
  const counts = [
    [limits.wrongCodesOfCaller, { at, count: own }],
    [isWeak(tx, of) ? limits.wrongWeakCodes : limits.wrongCodes, { at, count: failed }],
  ] as const
  refuseAt(tx, counts, {
    id: "user.too_many_codes",
    message: "too many wrong codes were tried; wait an hour",
  })
}

/** Whether the code that they guess has less than 28 bits; the same where the user has none. */
const isWeak = (tx: Decision, of: TriedFor): boolean =>
  codeStrength(tx, of === "magic_link" ? "otp_email" : codeGenerators[of]) < strongMin

/**
 * Service accounts host login pages: the wrong codes of a stranger there must not keep out the
 * user, whose link has no key. The limits of all callers bind them.
 */
function isServiceAccount({ caller, state }: Decision): boolean {
  if (caller.kind !== "user") return false
  const account = state(user, caller.userId)
  return !hasLeft(account) && account.kind === "machine"
}

/** Whether a code is still accepted without the key of its link. */
export function isTypedValid(tx: Transaction, userId: string, of: TriedFor, id: string): boolean {
  const { code } = tx.state(codeCount, codeCountId(userId, of))
  return code?.id !== id || !isReachedByCode(limits.wrongCodesForCode, code.failed)
}

/** Whether the key of the link of a code still lifts the limits on wrong codes. */
export function isKeyValid(tx: Transaction, userId: string, of: TriedFor, id: string): boolean {
  const { code } = tx.state(codeCount, codeCountId(userId, of))
  return code?.id !== id || !isReachedByCode(limits.wrongCodesWithKey, code.failedWithKey)
}

/** Counts a wrong code. */
export function countCodeFailure(
  tx: Transaction,
  userId: string,
  of: TriedFor,
  tried: Pick<FailedBy, "code" | "hasKey"> = {},
): void {
  const data = { caller: callerIn(tx), ...tried }
  const counted: Draft<CodeCountEvent> = { type: failures[of], data }
  tx.append(codeCount, codeCountId(userId, of), [counted])
}

/** Whom wrong codes are counted of: a service account or user, else a browser at its address. */
function callerIn({ caller, from, secrets }: Decision): string {
  const browser = from ? `browser ${networkOf(from.address)} ${from.userAgent}` : "inside"
  const text = caller.kind === "user" ? `user ${caller.userId}` : browser
  return secrets.hash(text, "code_count").slice(-22)
}

/** Notes that a link let its person in; `used` takes what it is known by: it was good once. */
export function countLinkUsed(tx: Transaction, userId: string, used: ClaimChange): void {
  const type = "user.human.magic_link.check.succeeded"
  tx.append(codeCount, codeCountId(userId, "magic_link"), [{ type, data: {}, claims: [used] }])
}

/** The ID of the stream in which codes for a purpose are counted. */
export const codeCountId = (userId: string, of: CodePurpose): string => `${of}/${userId}`

/** The IDs of all streams in which codes of a user are counted. */
export const codeCounts = (userId: string): readonly string[] =>
  Object.keys(requests).map((of) => `${of}/${userId}`)
