import type { Fault } from "./fault.ts"

/** A question about access: whether a user may do something to a resource, and why. */
export type AccessQuestion = {
  readonly userId: string
  /** The user's organization. */
  readonly orgId: string
  /** A permission, or the full name of an operation. */
  readonly subject:
    | { readonly kind: "permission"; readonly name: string }
    | { readonly kind: "operation"; readonly name: string }
  /** As in access rules; empty for the operation's own resource. */
  readonly resource: string
  readonly id: string
  /** The parent resource, for kinds whose IDs are only unique within it. */
  readonly parent: string
}

/** A user's roles at one level, and their relevance to the question. */
export type RoleAssignment = {
  readonly level: "instance" | "org" | "project" | "grant"
  readonly id: string
  readonly roles: readonly string[]
  /** The group that has the roles; absent for the user's own. */
  readonly groupId?: string | undefined
  /** The roles that grant the permission. */
  readonly granting: readonly string[]
  /** Whether the roles apply to the resource. */
  readonly reaches: boolean
}

/** An access decision with its reasons. */
export type AccessDecision = {
  /** The required permission; empty if a token is sufficient. */
  readonly permission: string
  readonly resource: string
  /** The owners of the resource. */
  readonly owners: { readonly org?: string; readonly project?: string; readonly grant?: string }
  /** All roles of the user, granting ones first. */
  readonly holdings: readonly RoleAssignment[]
  /**
   * Why it is allowed (a role, the user's own account, or open to all signed-in users), or the
   * fault of the rejection.
   */
  readonly outcome: "role" | "self" | "open" | Fault
}

export type ExplainAccess = (question: AccessQuestion) => AccessDecision
