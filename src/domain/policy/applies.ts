import type { Cx, Decision } from "../../store/index.ts"

/** Whoever reads states: a decision, or a call outside of one, which reads all roles of a user. */
export type Reading = Cx | Pick<Decision, "state" | "owner" | "instance" | "caller">

type Judge = (read: Reading, userId: string, author: string) => boolean

const judges: Judge[] = []

/** Names what decides who outranks whom: the module of administrators, which uses this one. */
export function judgeRankBy(judge: Judge): void {
  judges.push(judge)
}

/**
 * Whether what an administrator of an organization has set applies to a user: not to those who
 * outrank them. For these the setting of the instance applies. `author` is the user who changed it
 * last.
 */
export function appliesTo(read: Reading, userId: string, author: string): boolean {
  if (judges.length === 0) throw new Error("nothing decides who outranks whom")
  return judges.every((judge) => judge(read, userId, author))
}
