import type { Call } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Login, SecondFactor } from "../policy/index.ts"
import {
  factorsOf,
  type Human,
  hasLeft,
  hasPasskey,
  type KeyKind,
  type ReadyKey,
  type User,
} from "../user-model/index.ts"

/** A key of a person that counts, and its id. */
export type OwnKey = ReadyKey & { readonly id: string }

/** The keys with which a person can sign in, oldest first. */
export const keysOf = (state: User, kind?: KeyKind): readonly OwnKey[] =>
  isPerson(state)
    ? Object.entries(factorsOf(state).keys).flatMap(([id, key]) =>
        key.state === "ready" && (kind === undefined || key.kind === kind) ? [{ ...key, id }] : [],
      )
    : []

/** The second factors that a person has set up, as policies name them; passkeys are not in it. */
export function secondFactorsOf(state: User): readonly SecondFactor[] {
  if (!isPerson(state)) return []
  const { totp, otpEmail, otpSms, recoveryCodes } = factorsOf(state)
  const has: Readonly<Record<SecondFactor, boolean>> = {
    otp: totp?.verified === true,
    u2f: keysOf(state, "u2f").length > 0,
    // What is sent to an address that is not theirs for certain proves nothing.
    otp_email: otpEmail && state.email.verified,
    otp_sms: otpSms && state.phone?.verified === true,
    recovery_codes: recoveryCodes.some((hash) => hash !== ""),
  }
  return kinds.filter((kind) => has[kind])
}

/** What is asked for beside a password; a passkey also where it isn't the first. */
export type Factor = SecondFactor | "passkey"

/** Whether a login policy accepts a factor beside a password. */
export const isAllowedFactor = (
  { secondFactors, multiFactors }: Pick<Login, "secondFactors" | "multiFactors">,
  factor: Factor,
): boolean =>
  factor === "passkey"
    ? multiFactors.includes("u2f_with_verification")
    : secondFactors.includes(factor)

/** What a person has set up beside a password, the best first. */
export const factorsSetUp = (state: User): readonly Factor[] => [
  ...(hasPasskey(state) ? (["passkey"] as const) : []),
  ...secondFactorsOf(state),
]

const kinds: readonly SecondFactor[] = ["u2f", "otp", "otp_email", "otp_sms", "recovery_codes"]

export const isPerson = (state: User): state is Human => !hasLeft(state) && state.kind === "human"

/** The session with which users remove a factor of their own: that one goes on. */
export const keptSession = (
  { caller }: Pick<Call, "caller">,
  userId: string,
): { readonly keeps?: string } =>
  caller.kind === "user" && caller.userId === userId && caller.sessionId !== undefined
    ? { keeps: caller.sessionId }
    : {}

/** The person that a user is; refuses a service user, and who is not there. */
export function personIn(state: User): Human {
  if (hasLeft(state)) throw new Fault("not_found", "user.missing", "there is no such user")
  if (state.kind === "human") return state
  throw new Fault(
    "failed_precondition",
    "user.not_human",
    "this is a service user; only people have second factors and passkeys",
  )
}

/** A factor as it is listed, with those that are still being set up. */
export type ListedFactor = {
  readonly kind: "otp" | "otpSms" | "otpEmail" | "u2f"
  readonly isReady: boolean
  /** Of a security key. */
  readonly id: string
  readonly name: string
  readonly key?: ReadyKey
}

/** The second factors of a user; recovery codes and passkeys are listed elsewhere. */
export function listedFactors(state: User): readonly ListedFactor[] {
  if (!isPerson(state)) return []
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

/** How many recovery codes are left to use; undefined for who has none, or was never given any. */
export function recoveryCodesLeft(state: User): number | undefined {
  const codes = isPerson(state) ? factorsOf(state).recoveryCodes : []
  return codes.length === 0 ? undefined : codes.filter((hash) => hash !== "").length
}

/** Where one-time codes could be sent to a person: to what is theirs for certain. */
export const mayHaveCodes = (state: User): Readonly<Record<"email" | "sms", boolean>> =>
  isPerson(state)
    ? { email: state.email.verified, sms: state.phone?.verified === true }
    : { email: false, sms: false }

/** When somebody last put off to set up a second factor, ms UTC; 0 for never. */
export const factorSkipped = (state: User): number =>
  isPerson(state) ? factorsOf(state).skipped : 0

/** The id of the registration of a kind that goes on; undefined where none does. */
export const pendingKey = (state: User, kind: KeyKind): string | undefined =>
  isPerson(state)
    ? Object.entries(factorsOf(state).keys).find(
        ([, key]) => key.state === "pending" && key.kind === kind,
      )?.[0]
    : undefined
