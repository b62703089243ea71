import { memoizeByObject } from "../../kernel/lru.ts"

/** The name of a policy in event types. */
export type PolicyKind =
  | "domain"
  | "label"
  | "label.preview"
  | "lockout"
  | "login"
  | "notification"
  | "password.age"
  | "password.complexity"
  | "privacy"

type PolicyValue = boolean | number | string | readonly (number | string)[]

/** Policy values by field name. */
export type PolicyValues = Readonly<Record<string, PolicyValue>>

/** Declaration of a policy: default values and validation. */
export type Policy<V extends PolicyValues> = {
  readonly kind: PolicyKind
  readonly standard: V
  /** Rejects invalid values, and values that would lock everyone out. */
  readonly validate: (values: V) => void
  /**
   * For users who outrank the author of an organization's policy: the instance's values with the
   * organization's restrictions. Absent if the policy restricts nothing.
   */
  readonly stricter?: (instance: V, organization: V) => V
  /**
   * An organization's values combined with those the instance requires of all organizations. Absent
   * if it requires none.
   */
  readonly withRequired?: (organization: V, instance: V) => V
  /** Stored values completed with defaults. */
  readonly full: (stored: PolicyValues) => V
}

/** Declares a policy. */
export function definePolicy<V extends PolicyValues>(declared: Omit<Policy<V>, "full">): Policy<V> {
  const { standard } = declared
  return {
    ...declared,
    full: memoizeByObject((stored: PolicyValues) => ({ ...standard, ...stored })),
  }
}
