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
  lockByTries,
  locksUser,
  refuseAt,
  withAnother,
} from "./limits.ts"
import { eraseAfter, oldestSender, senderFor, withoutSender } from "./sender.ts"

const stems = {
  totp: "user.human.mfa.otp",
  otp_email: "user.human.mfa.otp.email",
  otp_sms: "user.human.mfa.otp.sms",
  recovery_code: "user.human.mfa.recoverycode",
  u2f: "user.human.mfa.u2f.token",
  passkey: "user.human.passwordless.token",
} as const

/** What is counted; a passkey and a security key are told apart. */
export type CountedKind = keyof typeof stems
type Stem = (typeof stems)[CountedKind]

export type FactorCheckEvent =
  | EventOf<Stem>
  /** The person is removed; it erases where failed checks came from. */
  | Event<"user.human.factor.check.erased">

/** The time step of a code of an authenticator app, 0 for all else, and whose code it was. */
type Taken = {
  readonly step: number
  /** A keyed hash of the secret; absent for all else, and in events of earlier versions. */
  readonly secret?: string
}

/** A type for each of them. */
type EventOf<Each> = Each extends Stem
  ? /** The private part is null in events of earlier versions. */
      | Event<`${Each}.check.failed`, { readonly locks: boolean }, Sender>
      | Event<`${Each}.check.succeeded`, Taken>
  : never

/** What was tried, over all kinds; times are ms UTC. */
export type FactorCount = {
  readonly hour: Span
  readonly day: Span
  /** Wrong ones since the last that was right. */
  readonly inRow: number
  /** RFC 6238 §4.2: the time step of the last code of an authenticator app that was taken. */
  readonly step: number
  /** The steps of the last codes of this secret that were taken, in their order. */
  readonly steps?: readonly number[]
  /** The secret that the step is of, as a keyed hash; absent where that was not stored. */
  readonly secret?: string
  readonly last: number
  /** When the first failed whose sender is kept; 0 where none is. */
  readonly oldest: number
}

type Span = { readonly since: number; readonly failed: number }

const { wrongFactorsInHour, wrongFactorsInDay, wrongFactorsInRow } = limits

/** Wrong ones are listed for so long; the next one then erases where all of them came from. */
export const factorListedMs = limits.listedFactors.window.ms

const none: Span = { since: 0, failed: 0 }

const untried: FactorCount = { hour: none, day: none, inRow: 0, step: 0, last: 0, oldest: 0 }

/** Tries with second factors and passkeys, by the user's id; apart from their own stream. */
export const factorCount = aggregate<FactorCheckEvent, FactorCount>({
  stream: "factor_check",
  retention: "transient",
  // Whoever tries once a day gets no further by being patient.
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
  initial: untried,
  evolve: {
    "user.human.mfa.otp.check.failed": failed,
    "user.human.mfa.otp.email.check.failed": failed,
    "user.human.mfa.otp.sms.check.failed": failed,
    "user.human.mfa.recoverycode.check.failed": failed,
    "user.human.mfa.u2f.token.check.failed": failed,
    "user.human.passwordless.token.check.failed": failed,
    "user.human.mfa.otp.check.succeeded": succeeded,
    "user.human.mfa.otp.email.check.succeeded": succeeded,
    "user.human.mfa.otp.sms.check.succeeded": succeeded,
    "user.human.mfa.recoverycode.check.succeeded": succeeded,
    "user.human.mfa.u2f.token.check.succeeded": succeeded,
    "user.human.passwordless.token.check.succeeded": succeeded,
    "user.human.factor.check.erased": () => untried,
  },
})

type Counted = { readonly time: number; readonly erase?: Erasure | null }
type Failed = Counted & { readonly data: { readonly locks: boolean } }
type Succeeded = Counted & { readonly data: Taken }

function failed(state: FactorCount, event: Failed): FactorCount {
  const { hour, day } = state
  const { time, data } = event
  return {
    ...state,
    hour: another(wrongFactorsInHour, hour, time),
    day: another(wrongFactorsInDay, day, time),
    inRow: data.locks ? 0 : inRowAt(state, time) + 1,
    last: time,
    oldest: oldestSender(state, event),
  }
}

/** Wrong ones in a row, unless the last was noted by a clock that was ahead. */
const inRowAt = ({ inRow, last }: FactorCount, now: number): number =>
  countAt(wrongFactorsInRow, { at: last, count: inRow }, now)

const countOf = ({ since, failed }: Span): Count => ({ at: since, count: failed })

function another(limit: Parameters<typeof withAnother>[0], span: Span, time: number): Span {
  const { at: since, count } = withAnother(limit, countOf(span), time)
  return { since, failed: count }
}

/** What failed before stays in the spans: who guesses may also know one of the codes. */
function succeeded(state: FactorCount, { time, data, erase }: Succeeded): FactorCount {
  const right = { ...state, inRow: 0, last: time, ...(erase && { oldest: 0 }) }
  if (data.step === 0) return right
  const { secret: before, ...others } = right
  const { secret } = data
  // A node of an earlier version may have accepted a step before the last one.
  const isSame = before === secret && state.step <= data.step + stepsAhead - stepWindow
  const step = isSame ? Math.max(state.step, data.step) : data.step
  const known = before === secret ? (state.steps ?? []) : []
  const steps = [...known, data.step].slice(-stepsMax)
  return { ...others, step, steps, ...(secret !== undefined && { secret }) }
}

/** Enough for the sign-ins that a clock which is set back comes to again. */
const stepsMax = 20

/** Time steps before and after the present one whose codes are accepted. */
export const stepWindow = 1

/**
 * Time steps that the last one may be ahead of the present one: the clocks of two nodes may differ
 * by 20 seconds, and each node accepts the next step by its own clock.
 */
const stepsAhead = 3

/**
 * Whether a code of a secret may not be taken: one of its time step was, or of a later one. Later
 * ones that are too far ahead were taken by a clock that has been corrected since: they say nothing
 * of other steps, or nobody would get in until then. Those of another secret say nothing at all.
 */
export function isStepTaken(
  tx: Transaction,
  userId: string,
  { now, ...of }: Required<Taken> & { readonly now: number },
): boolean {
  const { step, steps = [], secret = of.secret } = tx.state(factorCount, userId)
  if (secret !== of.secret) return false
  return steps.includes(of.step) || (of.step <= step && step <= now + stepsAhead)
}

/** Refuses to look at a proof where too many were wrong; asked within the same step. */
export function mayTryFactor(tx: Transaction, userId: string): void {
  const { hour, day } = tx.state(factorCount, userId)
  const counts = [
    [wrongFactorsInHour, countOf(hour)],
    [wrongFactorsInDay, countOf(day)],
  ] as const
  refuseAt(tx, counts, {
    id: "user.too_many_factor_tries",
    message: "too many wrong codes were tried; wait before you try again",
  })
}

/** Counts a wrong one, and locks its user where the policy of their organisation says so. */
export function countWrong(tx: Transaction, userId: string, kind: CountedKind): void {
  const inRow = inRowAt(tx.state(factorCount, userId), tx.now) + 1
  const locks = locksUser(tx, userId, wrongFactorsInRow, inRow)
  const type = `${stems[kind]}.check.failed` as const
  const sender = senderFor(tx, userId)
  const old = eraseOld(tx, userId)
  const event: Draft<FactorCheckEvent> = { type, data: { locks }, private: sender, ...old }
  tx.append(factorCount, userId, [event])
  if (locks) lockByTries(tx, userId)
}

/** Right ones go on for as long as somebody signs in, so that they erase, too. */
const eraseOld = (tx: Transaction, userId: string) =>
  eraseAfter(tx.state(factorCount, userId), { keptMs: factorListedMs, now: tx.now })

/**
 * Notes that a proof was right. `used` is what can't be shown again until it has expired: of two
 * that show it at the same moment, one is refused.
 */
export function countRight(
  tx: Transaction,
  userId: string,
  right: Partial<Taken> & {
    readonly kind: CountedKind
    readonly used?: { readonly key: string; readonly expires: number }
  },
): void {
  const { kind, step = 0, secret, used } = right
  const type = `${stems[kind]}.check.succeeded` as const
  const claims = used ? [usedUp(used)] : []
  const taken = { step, ...(secret && { secret }) }
  const event: Draft<FactorCheckEvent> = { type, data: taken, claims, ...eraseOld(tx, userId) }
  tx.append(factorCount, userId, [event])
}

/** Whether a challenge was answered before. */
export const isUsed = (tx: Transaction, key: string): boolean => tx.holder(claim, key) !== undefined

const claim = "factor_challenge"

/** Takes what a challenge is known by, until it has expired. */
export const usedUp = ({
  key,
  expires,
}: {
  readonly key: string
  readonly expires: number
}): ClaimChange => ({
  take: claim,
  key,
  expires,
  taken: { id: "user.factor_used", message: "this was used already; ask for another one" },
})
