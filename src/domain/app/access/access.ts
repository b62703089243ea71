/**
 * Which users can use an application, provided that the project admits them: all of them, those
 * assigned to it directly or through a group, or those with a role of the project.
 */
export type AppAccessRule = "everyone" | "assigned" | "role"

/**
 * Who can use an application, and what it requires of their sign-ins; absent fields require
 * nothing.
 */
export type AppAccess = {
  readonly rule: AppAccessRule
  /** Whether a second factor or a passkey is required. */
  readonly secondFactor?: boolean
  /** Maximum seconds since the sign-in. */
  readonly maxAge?: number
  /** IP addresses and CIDR blocks that the user's browser must be in. */
  readonly networks?: readonly string[]
}

/** Applies if no access is stored. */
const defaultAccess: AppAccess = { rule: "everyone" }

export const isDefaultAccess = (access: AppAccess): boolean => isSameAccess(access, defaultAccess)

/** Who can currently use an application. */
export const accessOf = (state: { readonly access?: AppAccess } | { readonly status: string }) =>
  ("access" in state ? state.access : undefined) ?? defaultAccess

/** Applies changes to the access; the result omits fields that require nothing. */
export function mergeAccess(current: AppAccess, change: Partial<AppAccess>): AppAccess {
  const { rule, secondFactor = false, maxAge = 0, networks = [] } = { ...current, ...change }
  return {
    rule,
    ...(secondFactor && { secondFactor }),
    ...(maxAge > 0 && { maxAge }),
    ...(networks.length > 0 && { networks }),
  }
}

/** Whether two results of `mergeAccess` are equal. */
export const isSameAccess = (one: AppAccess, other: AppAccess): boolean =>
  JSON.stringify(one) === JSON.stringify(other)
