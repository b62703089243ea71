import type { Found, Page } from "../kernel/page.ts"
import { bookmarks } from "./bookmark.ts"
import {
  blank,
  column,
  condition,
  type Filter,
  following,
  orderOf,
  type Searchable,
  scoped,
  sortsOf,
  withJoined,
} from "./condition.ts"
import { atHome } from "./home.ts"
import { known } from "./known.ts"
import { type Limits, searchLong } from "./long.ts"
import type { Cx } from "./store.ts"

export type Query = {
  readonly page: Page
  readonly sort?: string
  readonly filters: readonly Filter[]
}

const usual: Limits = { long: 5000, few: { least: 500, most: 10_000 } }

/**
 * The one way to list things: filters, the caller's scope, sorting, window and total. The total is
 * counted after scoping, so it tells nothing about rows that the caller may not see.
 */
export function search<Row>(cx: Cx, what: Searchable, query: Query, limits = usual): Found<Row> {
  if (!cx.scope) throw new Error(`a search of ${what.table} needs the scope of its caller`)
  const built = blank()
  const filters = atHome(cx, what, query.filters, limits)
  const where = [
    "instance = $instance",
    scoped(built, what, cx.scope),
    ...filters.map((filter) => condition(built, what, filter)),
  ].join(" AND ")
  const sort = column(built, what, query.sort ?? what.sort)
  // Where nearly all rows are alike, what sorts these has an index that the table has anyway.
  const isAlike = cx.store.index(what.table, sort)?.usual !== undefined
  const order = { sort, tie: isAlike ? what.sort : undefined }
  const { limit, offset, asc } = query.page
  const marks = bookmarks(cx, [what.table, order, asc, limit, query.filters])
  const after = marks.at(offset)
  const kept = (found: { readonly total: number; readonly rows: readonly Row[] }) => {
    const last = found.rows.at(-1)
    if (last && found.rows.length === limit) marks.keep(offset + limit, sortsOf(what, order), last)
    return { ...found, limit }
  }
  if (!built.joins) {
    const asked = { ...query, filters, ...order, after, scope: cx.scope }
    const found = searchLong<Row>(cx, what, asked, limits)
    if (found) return kept(found)
  }
  const by = (row: string) => orderOf(what, order, { asc, row })
  const { joined, table } = what
  const source = joined && built.joins ? `(${withJoined(joined, table)})` : table
  const total = `SELECT count(*) AS total FROM ${source} WHERE ${where}`
  const onward = after ? ` AND ${following(built, what, { ...order, asc, after })}` : ""
  const window = `SELECT * FROM ${source} WHERE ${where}${onward} ${by("")}
    LIMIT $limit OFFSET $offset`
  const rows = joined && !built.joins ? `${withJoined(joined, `(${window})`)} ${by("t.")}` : window
  const skipped = { limit, offset: after ? 0 : offset }
  return kept({
    total: cx.store.get(cx, known<{ total: number }>(total), built.values)?.total ?? 0,
    rows: cx.store.all(cx, known<Row>(rows), { ...built.values, ...skipped }),
  })
}
