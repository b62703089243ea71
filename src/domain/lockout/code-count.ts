import { networkOf } from "../../kernel/net/address.ts"
import {
  aggregate,
  type ClaimChange,
  type DecisionContext,
  type Draft,
  type Event,
  type Transaction,
} from "../../store/index.ts"
import { codeStrengthBits } from "../policy/index.ts"
import { isAbsent, user } from "../user-model/index.ts"
import {
  type Count,
  isCodeLimitReached,
  isCounting,
  isReached,
  limits,
  rejectIfReached,
  withAnother,
} from "./limits.ts"

/** The contact whose ownership a code proves. */
export type ContactKind = "email" | "phone"

/**
 * The purpose of a code: to verify a contact, accept an invitation, set a password or register a
 * passkey.
 */
export type CodeFor = ContactKind | "invite" | "password" | "passkey"

/** The secret generator for each purpose. */
export const codeGenerators = {
  email: "verify_email_code",
  phone: "verify_phone_code",
  invite: "init_code",
  password: "password_reset_code",
  passkey: "passwordless_init_code",
} as const

/** Purposes whose wrong codes are counted here, not as second factors. */
type AttemptPurpose = CodeFor | "magic_link"

/** Purposes whose requests are counted, including one-time codes for sign-ins. */
export type CodePurpose = AttemptPurpose | "otp_email" | "otp_sms"

/** Event types of requests and of wrong codes; wrong one-time codes are counted elsewhere. */
const requestEventTypes = {
  email: "user.human.email.code.requested",
  phone: "user.human.phone.code.requested",
  invite: "user.human.invite.code.requested",
  password: "user.human.password.code.requested",
  passkey: "user.human.passwordless.initialization.code.requested",
  magic_link: "user.human.magic_link.requested",
  otp_email: "user.human.mfa.otp.email.code.requested",
  otp_sms: "user.human.mfa.otp.sms.code.requested",
} as const satisfies Readonly<Record<CodePurpose, string>>

const failureEventTypes = {
  email: "user.human.email.verification.failed",
  phone: "user.human.phone.verification.failed",
  invite: "user.human.invite.check.failed",
  password: "user.human.password.code.check.failed",
  passkey: "user.human.passwordless.initialization.code.check.failed",
  magic_link: "user.human.magic_link.check.failed",
} as const satisfies Readonly<Record<AttemptPurpose, string>>

type RequestEventType = (typeof requestEventTypes)[CodePurpose]
type FailureEventType = (typeof failureEventTypes)[AttemptPurpose]

export type CodeCountEvent =
  | { [Type in RequestEventType]: Event<Type> }[RequestEventType]
  | { [Type in FailureEventType]: Event<Type, FailureData> }[FailureEventType]
  /** Carries the claim that makes a link single-use. */
  | Event<"user.human.magic_link.check.succeeded">

/** The current code of a user: a keyed hash and its expiration, ms UTC. */
export type CodeReference = { readonly id: string; readonly expires: number }

/** Absent in events of earlier versions. */
type FailureData = {
  /** The caller, as a keyed hash. */
  readonly caller?: string
  /** Absent if the user had no code, and for sign-in links. */
  readonly code?: CodeReference
  /** Whether the caller had the key of the link. */
  readonly hasKey?: boolean
}

/** Counts within an hour from `since`, ms UTC; `by` has the count of each known caller. */
export type CodeCount = {
  readonly since: number
  readonly requested: number
  readonly failed: number
  readonly by?: Readonly<Record<string, number>>
  /** Wrong codes over the lifetime of the user's latest code. */
  readonly code?: CodeReference & { readonly failed: number; readonly failedWithKey: number }
}

/** In bits: at 100 guesses an hour, the chance to find such a code is one in 2.6 million. */
const strongBitsMin = 28

/**
 * Requested codes and wrong codes. Separate from the user's stream, which is kept forever, so that
 * these can expire.
 */
export const codeCount = aggregate<CodeCountEvent, CodeCount>({
  stream: "code_count",
  retention: "transient",
  expires: ({ since, code }) => Math.max(since + limits.codeRequests.window.ms, code?.expires ?? 0),
  revision: 2,
  initial: { since: 0, requested: 0, failed: 0 },
  evolve: {
    "user.human.email.code.requested": countAnother("requested"),
    "user.human.phone.code.requested": countAnother("requested"),
    "user.human.invite.code.requested": countAnother("requested"),
    "user.human.password.code.requested": countAnother("requested"),
    "user.human.passwordless.initialization.code.requested": countAnother("requested"),
    "user.human.magic_link.requested": countAnother("requested"),
    "user.human.mfa.otp.email.code.requested": countAnother("requested"),
    "user.human.mfa.otp.sms.code.requested": countAnother("requested"),
    "user.human.email.verification.failed": countFailure,
    "user.human.phone.verification.failed": countFailure,
    "user.human.invite.check.failed": countFailure,
    "user.human.password.code.check.failed": countFailure,
    "user.human.passwordless.initialization.code.check.failed": countFailure,
    "user.human.magic_link.check.failed": countFailure,
    "user.human.magic_link.check.succeeded": (state) => state,
  },
})

/** Requests and failures share one window, which starts with the first of either. */
function countAnother(counter: "requested" | "failed") {
  return (state: CodeCount, { time }: { readonly time: number }): CodeCount => {
    const { since, code } = state
    const isOpen = isCounting(limits.codeRequests, since, time)
    const present = isOpen ? state : { requested: 0, failed: 0, ...(code && { code }) }
    const count = { at: since, count: present[counter] }
    const next = withAnother(limits.codeRequests, count, time)
    return { since: next.at, ...present, [counter]: next.count }
  }
}

function countFailure(
  state: CodeCount,
  event: { readonly time: number; readonly data: FailureData },
): CodeCount {
  const { caller, code, hasKey = false } = event.data
  const counted = code ? { ...state, code: codeFailures(state, code, hasKey) } : state
  if (hasKey) return counted
  const next = countAnother("failed")(counted, event)
  if (caller === undefined) return next
  return { ...next, by: { ...next.by, [caller]: (next.by?.[caller] ?? 0) + 1 } }
}

function codeFailures({ code: last }: CodeCount, code: CodeReference, hasKey: boolean) {
  const none = { failed: 0, failedWithKey: 0 }
  const { failed, failedWithKey } = last?.id === code.id ? last : none
  return hasKey
    ? { ...code, failed, failedWithKey: failedWithKey + 1 }
    : { ...code, failed: failed + 1, failedWithKey }
}

/** Counts a requested code that is sent to the user. Rejects too many requests. */
export function countRequest(tx: Transaction, userId: string, of: CodePurpose): void {
  rejectIfReached(tx, [[limits.codeRequests, requestCountOf(tx, userId, of)]], {
    id: "user.too_many_codes",
    message: "too many codes were requested; wait an hour",
  })
  const counted: Draft<CodeCountEvent> = { type: requestEventTypes[of], data: {} }
  tx.append(codeCount, codeCountId(userId, of), [counted])
}

function requestCountOf(tx: Transaction, userId: string, of: CodePurpose): Count {
  const { since, requested } = tx.state(codeCount, codeCountId(userId, of))
  return { at: since, count: requested }
}

/** Whether another request would exceed the limit, for callers that must not receive an error. */
export const isRequestedOften = (tx: Transaction, userId: string, of: CodePurpose): boolean =>
  isReached(limits.codeRequests, requestCountOf(tx, userId, of), tx.now)

/**
 * Throws if the caller, or all callers together, submitted too many wrong codes; must run in the
 * same transaction as the check.
 */
export function requireCodeAttemptAllowed(
  tx: Transaction,
  userId: string,
  of: AttemptPurpose,
): void {
  const { since: at, failed, by } = tx.state(codeCount, codeCountId(userId, of))
  if (!isCounting(limits.wrongCodes, at, tx.now)) return
  const own = isServiceAccount(tx) ? 0 : (by?.[callerKeyOf(tx)] ?? 0)
  const counts = [
    [limits.wrongCodesOfCaller, { at, count: own }],
    [isWeak(tx, of) ? limits.wrongWeakCodes : limits.wrongCodes, { at, count: failed }],
  ] as const
  rejectIfReached(tx, counts, {
    id: "user.too_many_codes",
    message: "too many codes were wrong; wait an hour",
  })
}

/** Whether codes for the purpose have less than 28 bits, regardless of whether the user has one. */
const isWeak = (tx: DecisionContext, of: AttemptPurpose): boolean =>
  codeStrengthBits(tx, of === "magic_link" ? "otp_email" : codeGenerators[of]) < strongBitsMin

/**
 * Service accounts host login pages: wrong codes of a stranger there must not lock out the user,
 * whose link has no key. Only the limits for all callers apply to them.
 */
function isServiceAccount({ caller, state }: DecisionContext): boolean {
  if (caller.kind !== "user") return false
  const account = state(user, caller.userId)
  return !isAbsent(account) && account.kind === "machine"
}

/** Whether a code is still accepted without the key of its link. */
export function isCodeAloneAccepted(
  tx: Transaction,
  userId: string,
  of: AttemptPurpose,
  id: string,
): boolean {
  const { code } = tx.state(codeCount, codeCountId(userId, of))
  return code?.id !== id || !isCodeLimitReached(limits.wrongCodesForCode, code.failed)
}

/** Whether the key of a code's link still bypasses the limits on wrong codes. */
export function isLinkKeyAccepted(
  tx: Transaction,
  userId: string,
  of: AttemptPurpose,
  id: string,
): boolean {
  const { code } = tx.state(codeCount, codeCountId(userId, of))
  return code?.id !== id || !isCodeLimitReached(limits.wrongCodesWithKey, code.failedWithKey)
}

/** Counts a wrong code. */
export function countCodeFailure(
  tx: Transaction,
  userId: string,
  of: AttemptPurpose,
  attempt: Pick<FailureData, "code" | "hasKey"> = {},
): void {
  const data = { caller: callerKeyOf(tx), ...attempt }
  const counted: Draft<CodeCountEvent> = { type: failureEventTypes[of], data }
  tx.append(codeCount, codeCountId(userId, of), [counted])
}

/**
 * The caller that wrong codes are counted for: a service account or user, otherwise browser and
 * network.
 */
function callerKeyOf({ caller, from, secrets }: DecisionContext): string {
  const browser = from ? `browser ${networkOf(from.address)} ${from.userAgent}` : "inside"
  const text = caller.kind === "user" ? `user ${caller.userId}` : browser
  return secrets.hash(text, "code_count").slice(-22)
}

/** Records a sign-in with a link; `used` claims the link, so that it can be used only once. */
export function countLinkUsed(tx: Transaction, userId: string, used: ClaimChange): void {
  const type = "user.human.magic_link.check.succeeded"
  tx.append(codeCount, codeCountId(userId, "magic_link"), [{ type, data: {}, claims: [used] }])
}

/** ID of the stream that counts codes for a purpose. */
export const codeCountId = (userId: string, of: CodePurpose): string => `${of}/${userId}`

/** IDs of all streams that count codes of a user. */
export const codeCountIds = (userId: string): readonly string[] =>
  Object.keys(requestEventTypes).map((of) => `${of}/${userId}`)
