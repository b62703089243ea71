import type { Cx, Decision } from "../../store/index.ts"

/** Whoever reads states: a decision, or a call outside of one, which reads all roles of a user. */
export type Reading = Cx | Pick<Decision, "state" | "owner" | "instance" | "caller">

/** What an author has set for an organization. */
type Authored = { readonly author: string; readonly orgId: string }

type Judge = {
  readonly appliesTo: (read: Reading, userId: string, author: string) => boolean
  readonly canReplace: (tx: Decision, authored: Authored) => boolean
}

const judges: Judge[] = []

/** Names what decides who outranks whom: the module of administrators, which uses this one. */
export function judgeRankBy(judge: Judge): void {
  judges.push(judge)
}

function all(judged: (judge: Judge) => boolean): boolean {
  if (judges.length === 0) throw new Error("nothing decides who outranks whom")
  return judges.every(judged)
}

/**
 * Whether what an administrator of an organization has set applies to a user: not to those who
 * outrank them. For these the setting of the instance applies. `author` is the user who changed it
 * last.
 */
export const appliesTo = (read: Reading, userId: string, author: string): boolean =>
  all((judge) => judge.appliesTo(read, userId, author))

/**
 * Whether the caller is permitted to change or remove what an author has set for an organization:
 * not where the author is active and has permissions there that the caller lacks.
 */
export const canReplace = (tx: Decision, authored: Authored): boolean =>
  all((judge) => judge.canReplace(tx, authored))
