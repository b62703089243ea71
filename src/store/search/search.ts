import { type Lru, lru } from "../../kernel/lru.ts"
import type { Found, Page } from "../../kernel/page.ts"
import { ofInstance } from "../cached.ts"
import type { Cx } from "../store.ts"
import type { Value } from "../view/statement.ts"
import {
  type Built,
  blank,
  column,
  condition,
  type Filter,
  type Searchable,
  scoped,
  sortsOf,
  withoutDominant,
} from "./condition.ts"
import { cursors } from "./cursor.ts"
import { fewMax, planOf, tieOf } from "./plan.ts"
import type { TextCondition } from "./text/text-condition.ts"

export type Query = {
  readonly page: Page
  readonly sort?: string
  readonly filters: readonly Filter[]
}

type Counted = { readonly stamp: number; readonly total: number }
const countedMax = 1000
const totalsOf = ofInstance<Lru<Counted>>(() => lru(countedMax))

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
  const table = store.texts(what.table)
  const conditions: TextCondition[] = []
  const built = { ...blank(), dominant, ...(table && { texts: { table, conditions } }) }
  const seen = `instance = $instance AND ${scoped(built, what, cx.scope)}`
  const mine = { ...built.values }
  const { found, but } = filtered(built, what, query.filters)
  const except = but === undefined ? undefined : { seen, but }
  const where = [seen, ...found].join(" AND ")
  const sort = column(built, what, query.sort ?? what.sort)
  const { page } = query
  const { limit, offset } = page
  const index = store.index(what.table, sort)
  const order = { sort, tie: tieOf({ index, what }) }
  const places = cursors(cx, [what.table, order, page.asc, limit, query.filters])
  const after = places.at(offset)
  const values = { ...built.values }
  const plan = planOf(
    {
      what,
      built,
      where,
      sort,
      page,
      after,
      index,
      except,
      own: store.index(what.table, what.sort),
      isKey: store.keyOf(what.table) === what.key,
    },
    most,
  )
  const totals = totalsIn(cx, totalsOf(cx))
  const counted = totals(plan.total, values)
  const all = plan.seen === undefined ? undefined : totals(plan.seen, mine)
  const isAll = cx.scope.all
  const isUnfiltered = query.filters.length === 0
  const texts = table && { table: what.table, conditions, isAll, isUnfiltered }
  const answer = await store.read<Row>(cx, {
    plan,
    values: { ...built.values, instance: cx.instance },
    limit,
    offset: after ? 0 : offset,
    most,
    total: counted.known,
    seen: all?.known,
    texts,
  })
  const { total, rows } = answer
  counted.keep(total)
  if (answer.seen !== undefined) all?.keep(answer.seen)
  places.keep({ offset, limit, after, rows }, sortsOf(what, order))
  return { total, rows: what.decode ? rows.map(what.decode) : rows, limit }
}

/** Totals that hold until an event changes what they count. */
const totalsIn =
  ({ store }: Cx, kept: Lru<Counted>) =>
  (sql: string, values: Readonly<Record<string, Value>>) => {
    const key = JSON.stringify([sql, values], (_, value: unknown) =>
      typeof value === "bigint" ? `${value}` : value,
    )
    const stamp = store.stamp(sql)
    const found = kept.get(key)
    return {
      known: found?.stamp === stamp ? found.total : undefined,
      keep: (total: number) => kept.set(key, { stamp, total }),
    }
  }

/** Filters as SQL, and what a single one leaves out, where an index may have that. */
function filtered(built: Built, what: Searchable, filters: readonly Filter[]) {
  const found = (filter: Filter) => condition(built, what, filter)
  const [only, ...others] = filters
  if (!only || others.length > 0) return { found: filters.map(found) }
  if ("not" in only) {
    const but = found(only.not)
    const others = `(${but}) IS NOT TRUE`
    // Only rows without the dominant value can be among those: an index has just these.
    const rest = withoutDominant(built, only.not)
    return rest ? { found: [`${rest} AND ${others}`] } : { found: [others], but }
  }
  const sql = found(only)
  const rest = withoutDominant(built, only)
  return { found: [sql], ...(rest && { but: `${rest} AND (${sql}) IS NOT TRUE` }) }
}
