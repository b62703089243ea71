/**
 * Which of the users whom the project admits can use an application: all of them, those who are
 * assigned to it, themselves or by a group, or those with a role of the project.
 */
export type AppAccessRule = "everyone" | "assigned" | "role"

/** Who can use an application, and what their sign-in must be. Absent is no requirement. */
export type AppAccess = {
  readonly rule: AppAccessRule
  /** Whether a second factor or a passkey is required. */
  readonly secondFactor?: boolean
  /** Seconds since the sign-in. */
  readonly maxAge?: number
  /** IP addresses and blocks where the user's browser must be. */
  readonly networks?: readonly string[]
}

/** Applies if nothing is stored. */
const defaultAccess: AppAccess = { rule: "everyone" }

export const isDefaultAccess = (access: AppAccess): boolean => isSame(access, defaultAccess)

/** Who can use an application now. */
export const accessOf = (state: { readonly access?: AppAccess } | { readonly status: string }) =>
  ("access" in state ? state.access : undefined) ?? defaultAccess

/** Access with changed fields, without fields that require nothing. */
export function accessWith(before: AppAccess, change: Partial<AppAccess>): AppAccess {
  const { rule, secondFactor = false, maxAge = 0, networks = [] } = { ...before, ...change }
  return {
    rule,
    ...(secondFactor && { secondFactor }),
    ...(maxAge > 0 && { maxAge }),
    ...(networks.length > 0 && { networks }),
  }
}

/** Whether two results of `accessWith` are equal. */
export const isSame = (one: AppAccess, other: AppAccess): boolean =>
  JSON.stringify(one) === JSON.stringify(other)
