import { refusedFieldError, wholeNumber } from "./bound.ts"
import { policy } from "./kind.ts"

export type PasswordComplexity = {
  readonly minLength: number
  readonly hasUppercase: boolean
  readonly hasLowercase: boolean
  readonly hasNumber: boolean
  readonly hasSymbol: boolean
  /** How many of the last, the present one among them, nobody chooses again; 0: any may be. */
  readonly reuseCount: number
}

/** What every new password must have. */
export const passwordComplexity = policy<PasswordComplexity>({
  kind: "password.complexity",
  standard: {
    minLength: 8,
    hasUppercase: true,
    hasLowercase: true,
    hasNumber: true,
    hasSymbol: true,
    reuseCount: 0,
  },
  check: ({ minLength, reuseCount }) => {
    // NIST SP 800-63B §5.1.1.2: at least 64 characters must do.
    wholeNumber("min_length", minLength, { min: 1, max: 64 })
    // Each is as much work as a sign-in.
    wholeNumber("reuse_count", reuseCount, { min: 0, max: 24 })
  },
  stricter: (instance, organization) => ({
    minLength: Math.max(instance.minLength, organization.minLength),
    hasUppercase: instance.hasUppercase || organization.hasUppercase,
    hasLowercase: instance.hasLowercase || organization.hasLowercase,
    hasNumber: instance.hasNumber || organization.hasNumber,
    hasSymbol: instance.hasSymbol || organization.hasSymbol,
    reuseCount: Math.max(instance.reuseCount, organization.reuseCount),
  }),
})

/**
 * What set-up states for a new instance: length and a list of common passwords, no composition
 * (NIST SP 800-63B-4 §3.1.1.2). The standard above is the API's, for instances without a policy.
 */
export const lengthOnly: PasswordComplexity = {
  minLength: 15,
  hasUppercase: false,
  hasLowercase: false,
  hasNumber: false,
  hasSymbol: false,
  reuseCount: 0,
}

export type Lockout = {
  /** 0: nobody is locked. */
  readonly maxPasswordAttempts: number
  readonly maxOtpAttempts: number
}

/** How many failed tries in a row lock a user. */
export const lockout = policy<Lockout>({
  kind: "lockout",
  standard: { maxPasswordAttempts: 0, maxOtpAttempts: 0 },
  check: ({ maxPasswordAttempts, maxOtpAttempts }) => {
    wholeNumber("max_password_attempts", maxPasswordAttempts, { min: 0, max: 1000 })
    wholeNumber("max_otp_attempts", maxOtpAttempts, { min: 0, max: 1000 })
  },
  // Never tightened by what does not apply: fewer attempts let a stranger lock an administrator.
})

export type PasswordAge = {
  /** 0: a password is good for good. */
  readonly maxAgeDays: number
  readonly expireWarnDays: number
}

/** How long a password is good for. */
export const passwordAge = policy<PasswordAge>({
  kind: "password.age",
  standard: { maxAgeDays: 0, expireWarnDays: 0 },
  check: ({ maxAgeDays, expireWarnDays }) => {
    wholeNumber("max_age_days", maxAgeDays, { min: 0, max: 3650 })
    wholeNumber("expire_warn_days", expireWarnDays, { min: 0, max: 3650 })
    if (expireWarnDays > 0 && expireWarnDays >= maxAgeDays) {
      throw refusedFieldError("expire_warn_days", "must be less than max_age_days")
    }
  },
})
