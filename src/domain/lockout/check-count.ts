import type { Sender } from "../../protocol/sender.ts"
import {
  aggregate,
  type ClaimChange,
  type Draft,
  type Erasure,
  type Event,
  type Transaction,
} from "../../store/index.ts"
import {
  type Count,
  countAt,
  limits,
  lockAfterFailures,
  rejectIfReached,
  shouldLock,
  withAnother,
} from "./limits.ts"
import { eraseAfter, oldestSender, senderFor, withoutSender } from "./sender.ts"

const eventPrefixes = {
  totp: "user.human.mfa.otp",
  otp_email: "user.human.mfa.otp.email",
  otp_sms: "user.human.mfa.otp.sms",
  recovery_code: "user.human.mfa.recoverycode",
  u2f: "user.human.mfa.u2f.token",
  passkey: "user.human.passwordless.token",
} as const

/** Kinds that are counted; passkeys and security keys are separate kinds. */
export type CountedKind = keyof typeof eventPrefixes
type EventPrefix = (typeof eventPrefixes)[CountedKind]

export type FactorCheckEvent =
  | CheckEventOf<EventPrefix>
  /** Written when the user is removed; erases the senders of failed checks. */
  | Event<"user.human.factor.check.erased">

/** The time step of an authenticator app code (0 for other kinds) and its secret. */
type UsedStep = {
  readonly step: number
  /** A keyed hash of the secret; absent for other kinds and in events of earlier versions. */
  readonly secret?: string
}

/** The events of each kind. */
type CheckEventOf<Each> = Each extends EventPrefix
  ? /** The private part is null in events of earlier versions. */
      | Event<`${Each}.check.failed`, { readonly locks: boolean }, Sender>
      | Event<`${Each}.check.succeeded`, UsedStep>
  : never

/** Counts over all kinds; times are ms UTC. */
export type FactorCount = {
  readonly hour: CountWindow
  readonly day: CountWindow
  /** Failures since the last success. */
  readonly inRow: number
  /** RFC 6238 §4.2: the time step of the last accepted code of an authenticator app. */
  readonly step: number
  /** The steps of the last accepted codes of this secret, in order of use. */
  readonly steps?: readonly number[]
  /** Keyed hash of the secret of these steps; absent if it was not stored. */
  readonly secret?: string
  readonly last: number
  /** Time of the first failure with a stored sender; 0 if there is none. */
  readonly oldest: number
}

type CountWindow = { readonly since: number; readonly failed: number }

const { wrongFactorsInHour, wrongFactorsInDay, wrongFactorsInRow } = limits

/** How long failures are listed; the next failure after that erases all senders. */
export const factorListedMs = limits.listedFactors.window.ms

const noFailures: CountWindow = { since: 0, failed: 0 }

const initialCount: FactorCount = {
  hour: noFailures,
  day: noFailures,
  inRow: 0,
  step: 0,
  last: 0,
  oldest: 0,
}

/** Checks of second factors and passkeys by user ID; separate from the user's stream. */
export const factorCount = aggregate<FactorCheckEvent, FactorCount>({
  stream: "factor_check",
  retention: "transient",
  // Failures in a row don't expire, so that one guess a day is still counted.
  expires: ({ last, inRow }) =>
    last + (inRow > 0 ? wrongFactorsInRow : wrongFactorsInDay).window.ms,
  revision: 4,
  upcasters: {
    "user.human.mfa.otp.check.failed": [withoutSender],
    "user.human.mfa.otp.email.check.failed": [withoutSender],
    "user.human.mfa.otp.sms.check.failed": [withoutSender],
    "user.human.mfa.recoverycode.check.failed": [withoutSender],
    "user.human.mfa.u2f.token.check.failed": [withoutSender],
    "user.human.passwordless.token.check.failed": [withoutSender],
  },
  downcasters: {
    "user.human.mfa.otp.check.failed": withoutSender,
    "user.human.mfa.otp.email.check.failed": withoutSender,
    "user.human.mfa.otp.sms.check.failed": withoutSender,
    "user.human.mfa.recoverycode.check.failed": withoutSender,
    "user.human.mfa.u2f.token.check.failed": withoutSender,
    "user.human.passwordless.token.check.failed": withoutSender,
  },
  initial: initialCount,
  evolve: {
    "user.human.mfa.otp.check.failed": withFailure,
    "user.human.mfa.otp.email.check.failed": withFailure,
    "user.human.mfa.otp.sms.check.failed": withFailure,
    "user.human.mfa.recoverycode.check.failed": withFailure,
    "user.human.mfa.u2f.token.check.failed": withFailure,
    "user.human.passwordless.token.check.failed": withFailure,
    "user.human.mfa.otp.check.succeeded": withSuccess,
    "user.human.mfa.otp.email.check.succeeded": withSuccess,
    "user.human.mfa.otp.sms.check.succeeded": withSuccess,
    "user.human.mfa.recoverycode.check.succeeded": withSuccess,
    "user.human.mfa.u2f.token.check.succeeded": withSuccess,
    "user.human.passwordless.token.check.succeeded": withSuccess,
    "user.human.factor.check.erased": () => initialCount,
  },
})

type CountEvent = { readonly time: number; readonly erase?: Erasure | null }
type FailedEvent = CountEvent & { readonly data: { readonly locks: boolean } }
type SucceededEvent = CountEvent & { readonly data: UsedStep }

function withFailure(state: FactorCount, event: FailedEvent): FactorCount {
  const { hour, day } = state
  const { time, data } = event
  return {
    ...state,
    hour: withAnotherInWindow(wrongFactorsInHour, hour, time),
    day: withAnotherInWindow(wrongFactorsInDay, day, time),
    inRow: data.locks ? 0 : inRowAt(state, time) + 1,
    last: time,
    oldest: oldestSender(state, event),
  }
}

/** Failures in a row; discards a last time in the future, recorded by a clock that was ahead. */
const inRowAt = ({ inRow, last }: FactorCount, now: number): number =>
  countAt(wrongFactorsInRow, { at: last, count: inRow }, now)

const countOf = ({ since, failed }: CountWindow): Count => ({ at: since, count: failed })

function withAnotherInWindow(
  limit: Parameters<typeof withAnother>[0],
  span: CountWindow,
  time: number,
): CountWindow {
  const { at: since, count } = withAnother(limit, countOf(span), time)
  return { since, failed: count }
}

/** The windows keep earlier failures, because an attacker may also know a valid code. */
function withSuccess(state: FactorCount, { time, data, erase }: SucceededEvent): FactorCount {
  const right = { ...state, inRow: 0, last: time, ...(erase && { oldest: 0 }) }
  if (data.step === 0) return right
  const { secret: before, ...others } = right
  const { secret } = data
  // A node of an earlier version may have accepted an earlier step.
  const isSame = before === secret && state.step <= data.step + stepsAhead - stepWindow
  const step = isSame ? Math.max(state.step, data.step) : data.step
  const usedSteps = before === secret ? (state.steps ?? []) : []
  const steps = [...usedSteps, data.step].slice(-keptStepsMax)
  return { ...others, step, steps, ...(secret !== undefined && { secret }) }
}

/** Enough for the sign-ins that repeat after a clock was set back. */
const keptStepsMax = 20

/** Number of time steps before and after the current one whose codes are accepted. */
export const stepWindow = 1

/**
 * Tolerated lead of the last step: node clocks can differ by 20 seconds, and each node accepts the
 * next step by its own clock.
 */
const stepsAhead = 3

/**
 * Whether a code can't be accepted because its time step or a later one was used. Steps too far in
 * the future were recorded by a clock that has been corrected since and are ignored; otherwise
 * no one could sign in until then. Steps of other secrets are ignored too.
 */
export function isStepUsed(
  tx: Transaction,
  userId: string,
  { now, ...of }: Required<UsedStep> & { readonly now: number },
): boolean {
  const { step, steps = [], secret = of.secret } = tx.state(factorCount, userId)
  if (secret !== of.secret) return false
  return steps.includes(of.step) || (of.step <= step && step <= now + stepsAhead)
}

/** Throws if too many proofs were wrong; must run in the same transaction as the check. */
export function requireFactorAllowed(tx: Transaction, userId: string): void {
  const { hour, day } = tx.state(factorCount, userId)
  const counts = [
    [wrongFactorsInHour, countOf(hour)],
    [wrongFactorsInDay, countOf(day)],
  ] as const
  rejectIfReached(tx, counts, {
    id: "user.too_many_factor_tries",
    message: "too many codes were wrong; wait before you try again",
  })
}

/** Counts a wrong proof, and locks the user if the policy of the organization requires it. */
export function countFactorFailure(tx: Transaction, userId: string, kind: CountedKind): void {
  const inRow = inRowAt(tx.state(factorCount, userId), tx.now) + 1
  const locks = shouldLock(tx, userId, wrongFactorsInRow, inRow)
  const type = `${eventPrefixes[kind]}.check.failed` as const
  const sender = senderFor(tx, userId)
  const old = eraseOldSenders(tx, userId)
  const event: Draft<FactorCheckEvent> = { type, data: { locks }, private: sender, ...old }
  tx.append(factorCount, userId, [event])
  if (locks) lockAfterFailures(tx, userId)
}

/** Successes also erase, because a user may never fail again. */
const eraseOldSenders = (tx: Transaction, userId: string) =>
  eraseAfter(tx.state(factorCount, userId), { keptMs: factorListedMs, now: tx.now })

/**
 * Records a correct proof. `used` identifies a challenge that must not be used again before it
 * expires; of two concurrent uses, one is rejected.
 */
export function recordFactorSuccess(
  tx: Transaction,
  userId: string,
  right: Partial<UsedStep> & {
    readonly kind: CountedKind
    readonly used?: { readonly key: string; readonly expires: number }
  },
): void {
  const { kind, step = 0, secret, used } = right
  const type = `${eventPrefixes[kind]}.check.succeeded` as const
  const claims = used ? [consumeChallenge(used)] : []
  const usedStep = { step, ...(secret && { secret }) }
  const event: Draft<FactorCheckEvent> = {
    type,
    data: usedStep,
    claims,
    ...eraseOldSenders(tx, userId),
  }
  tx.append(factorCount, userId, [event])
}

/** Whether a challenge was already answered. */
export const isUsed = (tx: Transaction, key: string): boolean =>
  tx.holder(challengeClaim, key) !== undefined

const challengeClaim = "factor_challenge"

/** Claims the key of a challenge until it expires. */
export const consumeChallenge = ({
  key,
  expires,
}: {
  readonly key: string
  readonly expires: number
}): ClaimChange => ({
  take: challengeClaim,
  key,
  expires,
  taken: {
    id: "user.factor_used",
    message: "this code or challenge was already used; request a new one",
  },
})
