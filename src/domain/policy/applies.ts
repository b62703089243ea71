import type { Cx, DecisionContext } from "../../store/index.ts"

/** A transaction, or a call outside of one, which reads all roles of a user. */
export type RankReader =
  | Cx
  | Pick<DecisionContext, "state" | "rows" | "owner" | "instance" | "caller">

type RankComparer = (read: RankReader, userId: string, author: string) => boolean

const rankComparers: RankComparer[] = []

/**
 * Registers the function that compares ranks; called by the administrator module, which depends on
 * this one.
 */
export function registerRankComparer(judge: RankComparer): void {
  rankComparers.push(judge)
}

/**
 * Whether settings of an organization's administrators apply to a user. They don't if the user
 * outranks one of the authors; the instance's settings apply instead. `authors` are the users who
 * set the current values.
 */
export function isApplicable(
  read: RankReader,
  userId: string,
  authors: readonly string[],
): boolean {
  if (rankComparers.length === 0) throw new Error("no rank comparer is registered")
  return authors.every((author) => rankComparers.every((judge) => judge(read, userId, author)))
}

/**
 * Marks an event of a partial update. Its author does not become the author of the kept values.
 * Absent in events of earlier versions.
 */
export type PartialUpdate = { readonly isPartial?: true }

/** The authors after a change; `author` is empty if there is no user. */
export function authorsAfter(
  before: readonly string[],
  author: string,
  { isPartial }: { readonly isPartial?: unknown },
): readonly string[] {
  const authors = isPartial ? [...before, author] : [author]
  return [...new Set(authors)].filter((each) => each !== "")
}
