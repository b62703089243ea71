import type { Found, Page } from "../../kernel/page.ts"
import { type Recent, recent } from "../../kernel/recent.ts"
import { ofInstance } from "../remembered.ts"
import type { Cx } from "../store.ts"
import {
  blank,
  column,
  condition,
  type Filter,
  type Searchable,
  scoped,
  sortsOf,
} from "./condition.ts"
import { cursors } from "./cursor.ts"
import { fewMax, planOf, tieOf } from "./plan.ts"

export type Query = {
  readonly page: Page
  readonly sort?: string
  readonly filters: readonly Filter[]
}

type Counted = { readonly stamp: number; readonly total: number }
const countedMax = 1000
const totalsOf = ofInstance<Recent<Counted>>(() => recent(countedMax))

/**
 * The one way to list things: filters, the caller's scope, sorting, window and total. The total is
 * counted after scoping, so it tells nothing about rows that the caller may not see.
 */
export async function search<Row>(
  cx: Cx,
  what: Searchable,
  query: Query,
  most = fewMax,
): Promise<Found<Row>> {
  if (!cx.scope) throw new Error(`a search of ${what.table} needs the scope of its caller`)
  const { store } = cx
  const dominant = (name: string) => store.index(what.table, name)?.dominant
  const built = { ...blank(), dominant }
  const seen = `instance = $instance AND ${scoped(built, what, cx.scope)}`
  const [only, ...others] = query.filters
  const isNot = only !== undefined && "not" in only && others.length === 0
  const except = isNot ? { seen, but: condition(built, what, only.not) } : undefined
  const found = except
    ? [`(${except.but}) IS NOT TRUE`]
    : query.filters.map((filter) => condition(built, what, filter))
  const where = [seen, ...found].join(" AND ")
  const sort = column(built, what, query.sort ?? what.sort)
  const { page } = query
  const { limit, offset } = page
  const index = store.index(what.table, sort)
  const order = { sort, tie: tieOf({ index, what }) }
  const places = cursors(cx, [what.table, order, page.asc, limit, query.filters])
  const after = places.at(offset)
  const conditions = { ...built.values }
  const plan = planOf(
    {
      ...{ what, built, where, sort, page, after, index, except },
      own: store.index(what.table, what.sort),
      isKey: store.keyOf(what.table) === what.key,
    },
    most,
  )
  const totals = totalsOf(cx)
  const counted = JSON.stringify([plan.total, conditions], (_, value: unknown) =>
    typeof value === "bigint" ? `${value}` : value,
  )
  const stamp = store.stamp(plan.total)
  const known = totals.get(counted)
  const { total, rows } = await store.read<Row>(cx, {
    plan,
    values: { ...built.values, instance: cx.instance },
    limit,
    offset: after ? 0 : offset,
    most,
    total: known?.stamp === stamp ? known.total : undefined,
  })
  totals.set(counted, { stamp, total })
  places.keep({ offset, limit, after, rows }, sortsOf(what, order))
  return { total, rows, limit }
}
