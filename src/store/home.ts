import { blank, condition, type Filter, type Home, type Searchable } from "./condition.ts"
import { known } from "./known.ts"
import type { Limits } from "./long.ts"
import { keysOf, measure, type Survey, scans } from "./measure.ts"
import { isCarried, keysIn, rollOf } from "./roll.ts"
import type { Value } from "./statement.ts"
import type { Cx } from "./store.ts"

/**
 * Filters of a long table without what it is joined with: where few rows of the other table are
 * like that, the filter asks for their keys instead, and no row needs to be joined to be found.
 * What many are like stays as it is.
 */
export function atHome(
  cx: Cx,
  what: Searchable,
  filters: readonly Filter[],
  limits: Limits,
): readonly Filter[] {
  const homes = what.joined?.homes ?? []
  const every = homes.length > 0 ? cx.store.index(what.table, what.sort) : undefined
  if (!every || !cx.store.isLong(cx, every, limits.long)) return filters
  const moved = (filter: Filter): Filter => {
    if ("all" in filter) return { all: filter.all.map(moved) }
    if ("any" in filter) return { any: filter.any.map(moved) }
    if ("not" in filter) return { not: moved(filter.not) }
    const name = nameOf(filter)
    const home = homes.find(({ columns }) => columns[name] !== undefined)
    const values = home && keysAt(cx, home, { filter: renamed(filter, home), limits })
    return home && values ? { oneOf: home.via, values } : filter
  }
  return filters.map(moved)
}

type Leaf = Exclude<Filter, { all: unknown } | { any: unknown } | { not: unknown }>

function nameOf(filter: Leaf): string {
  if ("text" in filter) return filter.text
  if ("equals" in filter) return filter.equals
  return "oneOf" in filter ? filter.oneOf : filter.compare
}

/** The filter as the table at home knows it. */
function renamed(filter: Leaf, { columns }: Home): Leaf {
  const name = columns[nameOf(filter)] ?? ""
  if ("text" in filter) return { ...filter, text: name }
  if ("equals" in filter) return { ...filter, equals: name }
  return "oneOf" in filter ? { ...filter, oneOf: name } : { ...filter, compare: name }
}

/** The keys of the rows that a filter finds at home; undefined where they are not few. */
function keysAt(
  cx: Cx,
  { table, columns }: Home,
  { filter, limits }: { readonly filter: Leaf; readonly limits: Limits },
): readonly Value[] | undefined {
  const key = cx.store.keyOf(table) ?? ""
  const what = { table, key, sort: "created", columns: Object.values(columns), owner: {} }
  const every = cx.store.index(table, what.sort)
  if (!every || every.usual !== undefined || !cx.store.isLong(cx, every, limits.long)) {
    return fewOf(cx, what, { filter, most: limits.few.most })
  }
  const ledger = cx.store.ledger(cx, every)
  const { most } = limits.few
  const survey: Survey = { cx, what, total: ledger.rows(), few: most }
  if (isCarried(every, filter) && scans(survey, filter)) {
    const roll = rollOf(cx.store.ledger(cx, every), every, { key, filters: [filter] })
    if (roll && roll.total > most) return undefined
    const keys = roll && keysIn(roll, { limit: most, offset: 0, asc: true })
    if (keys) return keys
  }
  const found = measure(survey, filter)
  if (!found?.way || found.rows > most) return undefined
  return keysOf(survey, [filter], found.way)
}

function fewOf(
  cx: Cx,
  what: Searchable,
  { filter, most }: { readonly filter: Filter; readonly most: number },
): readonly Value[] | undefined {
  const built = blank()
  const where = condition(built, what, filter)
  const sql = `SELECT ${what.key} AS key FROM ${what.table}
    WHERE instance = $instance AND ${where} LIMIT $limit`
  const found = cx.store.all(cx, known<{ key: Value }>(sql), {
    ...built.values,
    limit: most + 1,
  })
  return found.length > most ? undefined : found.map(({ key }) => key)
}
