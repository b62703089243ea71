import type { Cx, Decision } from "../../store/index.ts"

/** Whoever reads states: a decision, or a call outside of one, which reads all roles of a user. */
export type Reading = Cx | Pick<Decision, "state" | "rows" | "owner" | "instance" | "caller">

type Judge = (read: Reading, userId: string, author: string) => boolean

const judges: Judge[] = []

/** Names what decides who outranks whom: the module of administrators, which uses this one. */
export function judgeRankBy(judge: Judge): void {
  judges.push(judge)
}

/**
 * Whether what administrators of an organization have set applies to a user: not to those who
 * outrank one of them. For these the setting of the instance applies. `authors` are the users who
 * set the values that it has now.
 */
export function appliesTo(read: Reading, userId: string, authors: readonly string[]): boolean {
  if (judges.length === 0) throw new Error("nothing decides who outranks whom")
  return authors.every((author) => judges.every((judge) => judge(read, userId, author)))
}

/**
 * What events record of an update that states some values only. It makes nobody the author of the
 * values that it keeps. Events from before it was recorded do not have it.
 */
export type PartialUpdate = { readonly isPartial?: true }

/** The authors after a change; `author` is empty for no user. */
export function authorsAfter(
  before: readonly string[],
  author: string,
  { isPartial }: { readonly isPartial?: unknown },
): readonly string[] {
  const authors = isPartial ? [...before, author] : [author]
  return [...new Set(authors)].filter((each) => each !== "")
}
