import type { Call } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Login, SecondFactor } from "../policy/index.ts"
import {
  factorsOf,
  type Human,
  hasPasskey,
  isAbsent,
  type KeyKind,
  type ReadyKey,
  type User,
} from "../user-model/index.ts"

/** A registered key of a user, with its ID. */
export type OwnKey = ReadyKey & { readonly id: string }

/** Keys with which a user can sign in, oldest first. */
export const keysOf = (state: User, kind?: KeyKind): readonly OwnKey[] =>
  isHuman(state)
    ? Object.entries(factorsOf(state).keys).flatMap(([id, key]) =>
        key.state === "ready" && (kind === undefined || key.kind === kind) ? [{ ...key, id }] : [],
      )
    : []

/** Second factors that a user has set up, as named by policies; does not include passkeys. */
export function secondFactorsOf(state: User): readonly SecondFactor[] {
  if (!isHuman(state)) return []
  const { totp, otpEmail, otpSms, recoveryCodes } = factorsOf(state)
  const has: Readonly<Record<SecondFactor, boolean>> = {
    otp: totp?.verified === true,
    u2f: keysOf(state, "u2f").length > 0,
    // Codes sent to an unverified address prove nothing.
    otp_email: otpEmail && state.email.verified,
    otp_sms: otpSms && state.phone?.verified === true,
    recovery_codes: recoveryCodes.some((hash) => hash !== ""),
  }
  return secondFactorOrder.filter((kind) => has[kind])
}

/** A factor besides the password; a passkey can also be the second one. */
export type Factor = SecondFactor | "passkey"

/** Whether a login policy allows a factor besides the password. */
export const isAllowedFactor = (
  { secondFactors, multiFactors }: Pick<Login, "secondFactors" | "multiFactors">,
  factor: Factor,
): boolean =>
  factor === "passkey"
    ? multiFactors.includes("u2f_with_verification")
    : secondFactors.includes(factor)

/** Factors that a user has set up besides the password, in order of preference. */
export const listFactorsSetUp = (state: User): readonly Factor[] => [
  ...(hasPasskey(state) ? (["passkey"] as const) : []),
  ...secondFactorsOf(state),
]

const secondFactorOrder: readonly SecondFactor[] = [
  "u2f",
  "otp",
  "otp_email",
  "otp_sms",
  "recovery_codes",
]

export const isHuman = (state: User): state is Human => !isAbsent(state) && state.kind === "human"

/** The session with which users remove a factor of their own; it stays active. */
export const ownSession = (
  { caller }: Pick<Call, "caller">,
  userId: string,
): { readonly keeps?: string } =>
  caller.kind === "user" && caller.userId === userId && caller.sessionId !== undefined
    ? { keeps: caller.sessionId }
    : {}

/** Returns the state of a human user. Throws if the user doesn't exist or is a service account. */
export function requireHuman(state: User): Human {
  if (isAbsent(state)) throw new Fault("not_found", "user.missing", "user not found")
  if (state.kind === "human") return state
  throw new Fault(
    "failed_precondition",
    "user.not_human",
    "this user is a service account; only human users have second factors and passkeys",
  )
}

/** A listed factor, including those being set up. */
export type ListedFactor = {
  readonly kind: "otp" | "otpSms" | "otpEmail" | "u2f"
  readonly isReady: boolean
  /** ID of a security key; empty for other kinds. */
  readonly id: string
  readonly name: string
  readonly key?: ReadyKey
}

/** Second factors of a user, without recovery codes and passkeys. */
export function listedFactors(state: User): readonly ListedFactor[] {
  if (!isHuman(state)) return []
  const { totp, otpSms, otpEmail, keys } = factorsOf(state)
  const nameless = { isReady: true, id: "", name: "" }
  return [
    ...(totp ? [{ ...nameless, kind: "otp", isReady: totp.verified } as const] : []),
    ...(otpSms ? [{ ...nameless, kind: "otpSms" } as const] : []),
    ...(otpEmail ? [{ ...nameless, kind: "otpEmail" } as const] : []),
    ...Object.entries(keys).flatMap(([id, key]): readonly ListedFactor[] => {
      if (key.kind !== "u2f") return []
      if (key.state !== "ready") return [{ kind: "u2f", id, isReady: false, name: "" }]
      return [{ kind: "u2f", id, isReady: true, name: key.name, key }]
    }),
  ]
}

/** Number of unused recovery codes; undefined if none were ever generated. */
export function remainingRecoveryCodes(state: User): number | undefined {
  const codes = isHuman(state) ? factorsOf(state).recoveryCodes : []
  return codes.length === 0 ? undefined : codes.filter((hash) => hash !== "").length
}

/** Whether the user has a verified email address and a verified phone number for one-time codes. */
export const verifiedChannels = (state: User): Readonly<Record<"email" | "sms", boolean>> =>
  isHuman(state)
    ? { email: state.email.verified, sms: state.phone?.verified === true }
    : { email: false, sms: false }

/** When the user last postponed setting up a second factor, ms UTC; 0 if never. */
export const factorsSkippedAt = (state: User): number =>
  isHuman(state) ? factorsOf(state).skipped : 0

/** ID of the pending registration of a kind, or undefined. */
export const findPendingKey = (state: User, kind: KeyKind): string | undefined =>
  isHuman(state)
    ? Object.entries(factorsOf(state).keys).find(
        ([, key]) => key.state === "pending" && key.kind === kind,
      )?.[0]
    : undefined
