import { fieldError } from "../../kernel/fault.ts"
import { definePolicy } from "./kind.ts"
import { requireInteger, requireUrl } from "./validate.ts"

/** Second factors and multi-factor methods, as named by the API. */
export const secondFactors = ["otp", "u2f", "otp_email", "otp_sms", "recovery_codes"] as const
export const multiFactors = ["u2f_with_verification"] as const

export type SecondFactor = (typeof secondFactors)[number]
export type MultiFactor = (typeof multiFactors)[number]

/** Times are in seconds. */
export type Login = {
  readonly allowUsernamePassword: boolean
  readonly allowRegister: boolean
  /** Whether an administrator must approve sign-ups. */
  readonly requireSignUpApproval: boolean
  readonly allowExternalIdp: boolean
  readonly allowDomainDiscovery: boolean
  readonly allowPasswordless: boolean
  readonly forceMfa: boolean
  readonly forceMfaLocalOnly: boolean
  /** Whether administrators need a second factor, regardless of how they sign in. */
  readonly forceMfaManagers: boolean
  readonly hidePasswordReset: boolean
  readonly ignoreUnknownUsernames: boolean
  readonly disableLoginWithEmail: boolean
  readonly disableLoginWithPhone: boolean
  /** Whether users can sign in with an emailed link instead of a password. */
  readonly allowMagicLink: boolean
  readonly defaultRedirectUri: string
  readonly passwordCheckLifetime: number
  readonly externalLoginCheckLifetime: number
  readonly mfaInitSkipLifetime: number
  readonly secondFactorCheckLifetime: number
  readonly multiFactorCheckLifetime: number
  readonly secondFactors: readonly SecondFactor[]
  readonly multiFactors: readonly MultiFactor[]
}

const hourSeconds = 3600
const yearSeconds = 365 * 24 * hourSeconds

/** How users sign in. */
export const login = definePolicy<Login>({
  kind: "login",
  standard: {
    allowUsernamePassword: true,
    // Off by default, because users may have access to applications as soon as they have an
    // account.
    allowRegister: false,
    requireSignUpApproval: false,
    allowExternalIdp: true,
    allowDomainDiscovery: true,
    allowPasswordless: true,
    forceMfa: false,
    forceMfaLocalOnly: false,
    forceMfaManagers: false,
    hidePasswordReset: false,
    // Prevents user enumeration.
    ignoreUnknownUsernames: true,
    disableLoginWithEmail: false,
    disableLoginWithPhone: false,
    // Off by default, because an account is then only as secure as the mailbox.
    allowMagicLink: false,
    defaultRedirectUri: "",
    passwordCheckLifetime: 240 * hourSeconds,
    externalLoginCheckLifetime: 240 * hourSeconds,
    // By default, users are not prompted to set up a second factor.
    mfaInitSkipLifetime: 0,
    secondFactorCheckLifetime: 18 * hourSeconds,
    multiFactorCheckLifetime: 12 * hourSeconds,
    secondFactors: ["otp", "u2f"],
    multiFactors: ["u2f_with_verification"],
  },
  validate: (values) => {
    requireSignInPossible(values)
    requireUrl("default_redirect_uri", values.defaultRedirectUri)
    const bounds = { min: 0, max: yearSeconds }
    requireInteger("password_check_lifetime", values.passwordCheckLifetime, bounds)
    requireInteger("external_login_check_lifetime", values.externalLoginCheckLifetime, bounds)
    requireInteger("mfa_init_skip_lifetime", values.mfaInitSkipLifetime, bounds)
    requireInteger("second_factor_check_lifetime", values.secondFactorCheckLifetime, bounds)
    requireInteger("multi_factor_check_lifetime", values.multiFactorCheckLifetime, bounds)
  },
  // Factors allowed by either stay allowed, so that users still need those they have set up.
  stricter: (instance, organization) => ({
    ...instance,
    forceMfa: instance.forceMfa || organization.forceMfa,
    forceMfaLocalOnly: instance.forceMfaLocalOnly || organization.forceMfaLocalOnly,
    forceMfaManagers: instance.forceMfaManagers || organization.forceMfaManagers,
    secondFactors: union(instance.secondFactors, organization.secondFactors),
    multiFactors: union(instance.multiFactors, organization.multiFactors),
  }),
  // Otherwise organization owners could exempt themselves.
  withRequired: (organization, { forceMfaManagers }) =>
    forceMfaManagers ? { ...organization, forceMfaManagers } : organization,
})

const union = <T>(one: readonly T[], other: readonly T[]): readonly T[] => [
  ...new Set([...one, ...other]),
]

/**
 * Rejects values with which no one could sign in, including the administrator who would revert
 * them.
 */
function requireSignInPossible(values: Login): void {
  if (!values.allowUsernamePassword && !values.allowPasswordless) {
    throw fieldError(
      "policy.no_way_in",
      "allow_username_password",
      "must be enabled while passwordless_type is off, otherwise no one could sign in",
    )
  }
  const forced = values.forceMfa || values.forceMfaLocalOnly || values.forceMfaManagers
  // Recovery codes only replace another factor.
  const factors = values.secondFactors.filter((factor) => factor !== "recovery_codes")
  if (forced && factors.length + values.multiFactors.length === 0) {
    throw fieldError(
      "policy.no_factor",
      "second_factors",
      "must contain a factor other than recovery codes, or multi_factors must not be " +
        "empty, while force_mfa, force_mfa_local_only or force_mfa_managers is enabled",
    )
  }
}
