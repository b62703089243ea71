import type { Page, SearchResult } from "../../kernel/page.ts"
import type { Cx } from "../store.ts"
import { listCursors } from "./cursor.ts"

/** The sort values of a row; unique within a list. */
type SortValues = readonly (string | number | boolean)[]

export type ListWindow<Row> = {
  readonly page: Page
  /** The list with its order and filters, to distinguish the lists of one caller. */
  readonly requested: readonly unknown[]
  readonly by: (row: Row) => SortValues
}

/**
 * A page of sorted rows in memory. Like `search`, it continues after the last row of the previous
 * page.
 */
export function paginate<Row>(
  cx: Cx,
  all: readonly Row[],
  window: ListWindow<Row>,
): SearchResult<Row> {
  const { page, requested, by } = window
  const { limit, offset, asc } = page
  const sorted = all.toSorted((a, b) => compare(by(a), by(b)) * (asc ? 1 : -1))
  const places = listCursors(cx, ["window", requested, asc, limit])
  const after = places.at(offset)
  const remaining = after
    ? sorted.filter((row) => isAfter(by(row), Object.values(after), asc))
    : sorted
  const rows = after ? remaining.slice(0, limit) : remaining.slice(offset, offset + limit)
  const read = rows.map((row) => ({ ...by(row) }))
  places.keep({ offset, limit, after, rows: read }, Object.keys(read.at(-1) ?? after ?? {}))
  return { rows, total: all.length, limit }
}

const isAfter = (values: SortValues, last: readonly unknown[], asc: boolean): boolean =>
  compare(values, last) * (asc ? 1 : -1) > 0

function compare(a: readonly unknown[], b: readonly unknown[]): number {
  const at = a.findIndex((each, values) => each !== b[values])
  if (at < 0) return 0
  return isLess(a[at], b[at]) ? -1 : 1
}

const isLess = (a: unknown, b: unknown): boolean =>
  typeof a === "string" && typeof b === "string" ? a < b : Number(a) < Number(b)
