import type { Found, Page } from "../../kernel/page.ts"
import type { Cx } from "../store.ts"
import { cursors } from "./cursor.ts"

/** What sorts a row; no two rows of a list have the same. */
type Place = readonly (string | number | boolean)[]

export type Window<Row> = {
  readonly page: Page
  /** What is listed, sorted and filtered how: it tells one list of a caller from another. */
  readonly requested: readonly unknown[]
  readonly by: (row: Row) => Place
}

/**
 * A page of rows that are few enough to be in memory, sorted. As in a `search`, it goes on after
 * the last row of the page before.
 */
export function windowOf<Row>(cx: Cx, all: readonly Row[], how: Window<Row>): Found<Row> {
  const { page, requested, by } = how
  const { limit, offset, asc } = page
  const sorted = all.toSorted((a, b) => compare(by(a), by(b)) * (asc ? 1 : -1))
  const places = cursors(cx, ["window", requested, asc, limit])
  const after = places.at(offset)
  const left = after ? sorted.filter((row) => isAfter(by(row), Object.values(after), asc)) : sorted
  const rows = after ? left.slice(0, limit) : left.slice(offset, offset + limit)
  const read = rows.map((row) => ({ ...by(row) }))
  places.keep({ offset, limit, after, rows: read }, Object.keys(read.at(-1) ?? after ?? {}))
  return { rows, total: all.length, limit }
}

const isAfter = (place: Place, last: readonly unknown[], asc: boolean): boolean =>
  compare(place, last) * (asc ? 1 : -1) > 0

function compare(a: readonly unknown[], b: readonly unknown[]): number {
  const at = a.findIndex((each, place) => each !== b[place])
  if (at < 0) return 0
  return isLess(a[at], b[at]) ? -1 : 1
}

const isLess = (a: unknown, b: unknown): boolean =>
  typeof a === "string" && typeof b === "string" ? a < b : Number(a) < Number(b)
