import { definePolicy } from "./kind.ts"
import { invalidFieldError, requireInteger } from "./validate.ts"

export type PasswordComplexity = {
  readonly minLength: number
  readonly hasUppercase: boolean
  readonly hasLowercase: boolean
  readonly hasNumber: boolean
  readonly hasSymbol: boolean
  /**
   * Number of previous passwords, including the current one, that can't be reused; 0 for no limit.
   */
  readonly reuseCount: number
}

/** Requirements for new passwords. */
export const passwordComplexity = definePolicy<PasswordComplexity>({
  kind: "password.complexity",
  standard: {
    minLength: 8,
    hasUppercase: true,
    hasLowercase: true,
    hasNumber: true,
    hasSymbol: true,
    reuseCount: 0,
  },
  validate: ({ minLength, reuseCount }) => {
    // NIST SP 800-63B §5.1.1.2: 64 characters must be supported.
    requireInteger("min_length", minLength, { min: 1, max: 64 })
    // Each check costs as much as a sign-in.
    requireInteger("reuse_count", reuseCount, { min: 0, max: 24 })
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
 * The policy that setup stores for a new instance: minimum length and common passwords, no
 * composition rules (NIST SP 800-63B-4 §3.1.1.2). The default above applies to instances without a
 * policy.
 */
export const setupComplexity: PasswordComplexity = {
  minLength: 15,
  hasUppercase: false,
  hasLowercase: false,
  hasNumber: false,
  hasSymbol: false,
  reuseCount: 0,
}

export type Lockout = {
  /** 0: users are never locked. */
  readonly maxPasswordAttempts: number
  readonly maxOtpAttempts: number
}

/** Number of consecutive failures that lock a user. */
export const lockout = definePolicy<Lockout>({
  kind: "lockout",
  standard: { maxPasswordAttempts: 0, maxOtpAttempts: 0 },
  validate: ({ maxPasswordAttempts, maxOtpAttempts }) => {
    requireInteger("max_password_attempts", maxPasswordAttempts, { min: 0, max: 1000 })
    requireInteger("max_otp_attempts", maxOtpAttempts, { min: 0, max: 1000 })
  },
  // No `stricter`, because fewer attempts would let a stranger lock an administrator.
})

export type PasswordAge = {
  /** 0: passwords never expire. */
  readonly maxAgeDays: number
  readonly expireWarnDays: number
}

/** How long passwords are valid. */
export const passwordAge = definePolicy<PasswordAge>({
  kind: "password.age",
  standard: { maxAgeDays: 0, expireWarnDays: 0 },
  validate: ({ maxAgeDays, expireWarnDays }) => {
    requireInteger("max_age_days", maxAgeDays, { min: 0, max: 3650 })
    requireInteger("expire_warn_days", expireWarnDays, { min: 0, max: 3650 })
    if (expireWarnDays > 0 && expireWarnDays >= maxAgeDays) {
      throw invalidFieldError("expire_warn_days", "must be less than max_age_days")
    }
  },
})
