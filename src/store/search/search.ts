import { type Lru, lru } from "../../kernel/lru.ts"
import type { Page, SearchResult } from "../../kernel/page.ts"
import { perInstance } from "../cached.ts"
import type { Cx } from "../store.ts"
import type { Value } from "../view/statement.ts"
import {
  createBuilder,
  type Filter,
  filterCondition,
  requireColumn,
  type Searchable,
  type StatementBuilder,
  scopeCondition,
  sortColumns,
  withoutDominant,
} from "./condition.ts"
import { listCursors } from "./cursor.ts"
import { createPlan, maxSorted, tieColumnOf } from "./plan.ts"
import type { TextCondition } from "./text/text-condition.ts"

export type SearchQuery = {
  readonly page: Page
  readonly sort?: string
  readonly filters: readonly Filter[]
}

type CachedTotal = { readonly stamp: number; readonly total: number }
const maxCachedTotals = 1000
const totalsOf = perInstance<Lru<CachedTotal>>(() => lru(maxCachedTotals))

/**
 * Searches a table; every list uses it: filters, the caller's scope, sorting, page and total. The
 * total is counted within the scope, so it reveals nothing about invisible rows.
 */
export async function search<Row>(
  cx: Cx,
  searchable: Searchable,
  query: SearchQuery,
  maxFew = maxSorted,
): Promise<SearchResult<Row>> {
  if (!cx.scope) throw new Error(`a search of ${searchable.table} requires the caller's scope`)
  const { store } = cx
  const dominant = (name: string) => store.index(searchable.table, name)?.dominant
  const table = store.texts(searchable.table)
  const conditions: TextCondition[] = []
  const built = { ...createBuilder(), dominant, ...(table && { texts: { table, conditions } }) }
  const seen = `instance = $instance AND ${scopeCondition(built, searchable, cx.scope)}`
  const ownTable = { ...built.values }
  const { found: result, but } = buildFilters(built, searchable, query.filters)
  const except = but === undefined ? undefined : { seen, but }
  const where = [seen, ...result].join(" AND ")
  const sort = requireColumn(built, searchable, query.sort ?? searchable.sort)
  const { page } = query
  const { limit, offset } = page
  const index = store.index(searchable.table, sort)
  const order = { sort, tie: tieColumnOf({ index, what: searchable }) }
  const places = listCursors(cx, [searchable.table, order, page.asc, limit, query.filters])
  const after = places.at(offset)
  const values = { ...built.values }
  const plan = createPlan(
    {
      what: searchable,
      built,
      where,
      sort,
      page,
      after,
      index,
      except,
      own: store.index(searchable.table, searchable.sort),
      isKey: store.keyOf(searchable.table) === searchable.key,
    },
    maxFew,
  )
  const totals = cachedTotals(cx, totalsOf(cx))
  const counted = totals(plan.total, values)
  const all = plan.seen === undefined ? undefined : totals(plan.seen, ownTable)
  const isAll = cx.scope.all
  const isUnfiltered = query.filters.length === 0
  const texts = table && { table: searchable.table, conditions, isAll, isUnfiltered }
  const answer = await store.read<Row>(cx, {
    plan,
    values: { ...built.values, instance: cx.instance },
    limit,
    offset: after ? 0 : offset,
    most: maxFew,
    total: counted.known,
    seen: all?.known,
    texts,
  })
  const { total, rows } = answer
  counted.keep(total)
  if (answer.seen !== undefined) all?.keep(answer.seen)
  places.keep({ offset, limit, after, rows }, sortColumns(searchable, order))
  return { total, rows: searchable.decode ? rows.map(searchable.decode) : rows, limit }
}

/** Totals, cached until an event changes them. */
const cachedTotals =
  ({ store }: Cx, cache: Lru<CachedTotal>) =>
  (sql: string, values: Readonly<Record<string, Value>>) => {
    const key = JSON.stringify([sql, values], (_, value: unknown) =>
      typeof value === "bigint" ? `${value}` : value,
    )
    const stamp = store.stamp(sql)
    const result = cache.get(key)
    return {
      known: result?.stamp === stamp ? result.total : undefined,
      keep: (total: number) => cache.set(key, { stamp, total }),
    }
  }

/** Filters as SQL, and for a single negated filter the excluded part, if an index may have it. */
function buildFilters(built: StatementBuilder, searchable: Searchable, filters: readonly Filter[]) {
  const result = (filter: Filter) => filterCondition(built, searchable, filter)
  const [only, ...others] = filters
  if (!only || others.length > 0) return { found: filters.map(result) }
  if ("not" in only) {
    const but = result(only.not)
    const others = `(${but}) IS NOT TRUE`
    // Only rows without the dominant value can match: the index contains just these.
    const rest = withoutDominant(built, only.not)
    return rest ? { found: [`${rest} AND ${others}`] } : { found: [others], but }
  }
  const sql = result(only)
  const rest = withoutDominant(built, only)
  return { found: [sql], ...(rest && { but: `${rest} AND (${sql}) IS NOT TRUE` }) }
}
