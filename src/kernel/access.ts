import type { Fault } from "./fault.ts"

/** What is asked of the decision about access: may a user do this there, and why. */
export type AccessQuestion = {
  readonly userId: string
  /** The organisation that they belong to. */
  readonly orgId: string
  /** A permission; or an operation, by its full name. */
  readonly subject:
    | { readonly kind: "permission"; readonly name: string }
    | { readonly kind: "operation"; readonly name: string }
  /** As access rules name it; empty: what the operation is about. */
  readonly resource: string
  readonly id: string
  /** What the resource hangs from, for kinds that are only unique within it. */
  readonly parent: string
}

/** Roles of a user on one thing, and what they are to the question. */
export type Holding = {
  readonly level: "instance" | "org" | "project" | "grant"
  readonly id: string
  readonly roles: readonly string[]
  /** The group that has the roles; absent for the user's own. */
  readonly groupId?: string | undefined
  /** Those of them that permit it. */
  readonly granting: readonly string[]
  /** Whether the thing owns the resource, or reaches it. */
  readonly reaches: boolean
}

/** How the decision was made. */
export type AccessAnswer = {
  /** What the rule asks for; empty where it asks for nothing but a token. */
  readonly permission: string
  readonly resource: string
  /** What the resource belongs to. */
  readonly owners: { readonly org?: string; readonly project?: string; readonly grant?: string }
  /** All that the user holds, what opens the rule first. */
  readonly holdings: readonly Holding[]
  /**
   * Why it is allowed: by a role, because it is about oneself, because it is open to everybody who
   * is signed in; or what the refusal says.
   */
  readonly outcome: "role" | "self" | "open" | Fault
}

export type Explain = (question: AccessQuestion) => AccessAnswer
