import { keptWith } from "../../kernel/lru.ts"

/** A policy by its name in events. */
export type Kind =
  | "domain"
  | "label"
  | "label.preview"
  | "lockout"
  | "login"
  | "notification"
  | "password.age"
  | "password.complexity"
  | "privacy"

type Setting = boolean | number | string | readonly (number | string)[]

/** What a policy says, by the names of its fields. */
export type Values = Readonly<Record<string, Setting>>

/** One policy: what holds where nobody has said anything, and what may be said. */
export type Policy<V extends Values> = {
  readonly kind: Kind
  readonly standard: V
  /** Refuses what nobody can mean, and what would shut everybody out. */
  readonly check: (values: V) => void
  /**
   * For users who outrank the author of an organization's policy: the values of the instance, with
   * the restrictions of the organization added. Absent where the policy restricts nothing.
   */
  readonly stricter?: (instance: V, organization: V) => V
  /**
   * The values of an organization with those that the instance requires of all organizations.
   * Absent where it requires none.
   */
  readonly withRequired?: (organization: V, instance: V) => V
  /** All that it says where this was said of it. */
  readonly full: (said: Values) => V
}

/** Declares a policy. */
export function policy<V extends Values>(declared: Omit<Policy<V>, "full">): Policy<V> {
  const { standard } = declared
  return { ...declared, full: keptWith((said: Values) => ({ ...standard, ...said })) }
}
