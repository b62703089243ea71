import { fieldError } from "../../kernel/fault.ts"
import { webAddress, wholeNumber } from "./bound.ts"
import { policy } from "./kind.ts"

/** Second factors, and what is several factors at once, as the interface names them. */
export const secondFactors = ["otp", "u2f", "otp_email", "otp_sms", "recovery_codes"] as const
export const multiFactors = ["u2f_with_verification"] as const

export type SecondFactor = (typeof secondFactors)[number]
export type MultiFactor = (typeof multiFactors)[number]

/** Times are seconds. */
export type Login = {
  readonly allowUsernamePassword: boolean
  readonly allowRegister: boolean
  /** Whether an administrator must approve whoever registers. */
  readonly requireSignUpApproval: boolean
  readonly allowExternalIdp: boolean
  readonly allowDomainDiscovery: boolean
  readonly allowPasswordless: boolean
  readonly forceMfa: boolean
  readonly forceMfaLocalOnly: boolean
  /** Whether who manages something needs a second factor, however they sign in. */
  readonly forceMfaManagers: boolean
  readonly hidePasswordReset: boolean
  readonly ignoreUnknownUsernames: boolean
  readonly disableLoginWithEmail: boolean
  readonly disableLoginWithPhone: boolean
  /** Whether a link that is mailed to somebody lets them in without a password. */
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

const hour = 3600
const year = 365 * 24 * hour

/** How people sign in. */
export const login = policy<Login>({
  kind: "login",
  standard: {
    allowUsernamePassword: true,
    // Whoever signs in may enter applications: who else may make an account is to be said first.
    allowRegister: false,
    requireSignUpApproval: false,
    allowExternalIdp: true,
    allowDomainDiscovery: true,
    allowPasswordless: true,
    forceMfa: false,
    forceMfaLocalOnly: false,
    forceMfaManagers: false,
    hidePasswordReset: false,
    // Else the pages would tell strangers who has an account.
    ignoreUnknownUsernames: true,
    disableLoginWithEmail: false,
    disableLoginWithPhone: false,
    // An account is then worth as much as its mailbox, which is for whoever runs it to decide.
    allowMagicLink: false,
    defaultRedirectUri: "",
    passwordCheckLifetime: 240 * hour,
    externalLoginCheckLifetime: 240 * hour,
    // Nobody is stopped on their way to be asked for more than their organisation wants.
    mfaInitSkipLifetime: 0,
    secondFactorCheckLifetime: 18 * hour,
    multiFactorCheckLifetime: 12 * hour,
    secondFactors: ["otp", "u2f"],
    multiFactors: ["u2f_with_verification"],
  },
  check: (values) => {
    mustOpen(values)
    webAddress("default_redirect_uri", values.defaultRedirectUri)
    const bounds = { min: 0, max: year }
    wholeNumber("password_check_lifetime", values.passwordCheckLifetime, bounds)
    wholeNumber("external_login_check_lifetime", values.externalLoginCheckLifetime, bounds)
    wholeNumber("mfa_init_skip_lifetime", values.mfaInitSkipLifetime, bounds)
    wholeNumber("second_factor_check_lifetime", values.secondFactorCheckLifetime, bounds)
    wholeNumber("multi_factor_check_lifetime", values.multiFactorCheckLifetime, bounds)
  },
  // Factors that either allows stay allowed, so that users still need those that they have set up.
  stricter: (instance, organization) => ({
    ...instance,
    forceMfa: instance.forceMfa || organization.forceMfa,
    forceMfaLocalOnly: instance.forceMfaLocalOnly || organization.forceMfaLocalOnly,
    forceMfaManagers: instance.forceMfaManagers || organization.forceMfaManagers,
    secondFactors: union(instance.secondFactors, organization.secondFactors),
    multiFactors: union(instance.multiFactors, organization.multiFactors),
  }),
  // Else organization owners could exempt themselves.
  withRequired: (organization, { forceMfaManagers }) =>
    forceMfaManagers ? { ...organization, forceMfaManagers } : organization,
})

const union = <T>(one: readonly T[], other: readonly T[]): readonly T[] => [
  ...new Set([...one, ...other]),
]

/** Nobody could come in any more, not even whoever would change it back. */
function mustOpen(values: Login): void {
  if (!values.allowUsernamePassword && !values.allowPasswordless) {
    throw fieldError(
      "policy.no_way_in",
      "allow_username_password",
      "must stay on while passwordless_type is off: nobody could sign in",
    )
  }
  const forced = values.forceMfa || values.forceMfaLocalOnly || values.forceMfaManagers
  // Recovery codes only replace another one.
  const factors = values.secondFactors.filter((factor) => factor !== "recovery_codes")
  if (forced && factors.length + values.multiFactors.length === 0) {
    throw fieldError(
      "policy.no_factor",
      "second_factors",
      "must have one besides recovery codes, or multi_factors, while force_mfa, " +
        "force_mfa_local_only or force_mfa_managers asks for it",
    )
  }
}
