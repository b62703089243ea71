import type { Scope } from "../kernel/context.ts"
import type { Page } from "../kernel/page.ts"
import type { Bookmark } from "./bookmark.ts"
import {
  among,
  type Built,
  blank,
  condition,
  type Filter,
  following,
  orderOf,
  parameter,
  type Searchable,
  sortsOf,
  visible,
  withJoined,
} from "./condition.ts"
import { known } from "./known.ts"
import { type IndexPlace, inIndex, order, type Range } from "./ledger.ts"
import {
  covers,
  type Measure,
  measure,
  open,
  type Survey,
  scans,
  singleOf,
  sourceOf,
  type Way,
  wayPast,
} from "./measure.ts"
import { hasText, isCarried, keysIn, type Roll, rollOf } from "./roll.ts"
import { keysBy } from "./sorted.ts"
import type { Cx } from "./store.ts"

/** From how many rows on a table is long, and how many rows of it are few. */
export type Limits = {
  readonly long: number
  readonly few: { readonly least: number; readonly most: number }
}

type Asked = {
  readonly page: Page
  readonly sort: string
  /** What sorts rows that are alike there, before the key does. */
  readonly tie?: string | undefined
  /** The row that the page goes on after; its offset then only says which page that is. */
  readonly after?: Bookmark | undefined
  readonly filters: readonly Filter[]
  readonly scope: Scope
}

type Rows<Row> = { readonly total: number; readonly rows: readonly Row[] }

/** A filter, and what is known of it. */
type Term = { readonly filter: Filter; readonly measure: Measure | undefined }

/**
 * Searches a table of many rows. What finds few of them is asked first, and the others only of
 * those; where nothing does, the rows are read in the order that is asked for until the window is
 * full, and the total is counted in memory. Undefined where the table is not long, or not one that
 * this is for: then SQLite may choose.
 */
export function searchLong<Row>(
  cx: Cx,
  what: Searchable,
  asked: Asked,
  limits: Limits,
): Rows<Row> | undefined {
  const every = cx.store.index(what.table, what.sort)
  if (!every || every.usual !== undefined || cx.store.keyOf(what.table) !== what.key) {
    return undefined
  }
  if (!cx.store.isLong(cx, every, limits.long)) return undefined
  const { page } = asked
  const total = cx.store.ledger(cx, every).rows()
  // To read a row by itself costs ten times as much as to come by it.
  const balanced = Math.sqrt((total * (page.limit + page.offset)) / 10)
  const few = Math.min(limits.few.most, Math.max(limits.few.least, balanced))
  const survey: Survey = { cx, what, total, few }
  const seen = visible(what, asked.scope)
  const filters = narrower([...(seen ? [seen] : []), ...asked.filters].flatMap(parts))
  const terms: Term[] = []
  const isRolled = hasOrder(survey, asked, every) && filters.every((one) => isCarried(every, one))
  const sorted = filters.toSorted((a, b) => costOf(a) - costOf(b))
  const later = isRolled ? sorted.filter((each) => scans(survey, each)) : []
  /** The answer, where this one finds few. */
  const tried = (filter: Filter) => {
    const found = measure(survey, filter)
    if (found?.isExact && found.rows === total) return undefined
    const term = { filter, measure: found }
    terms.push(term)
    if (!found?.way || found.rows > few) return undefined
    return narrow<Row>(survey, asked, { filters, way: found.way, term })
  }
  for (const filter of sorted) {
    const found = later.includes(filter) ? undefined : tried(filter)
    if (found) return found
  }
  const isMost = later.length === 0 && terms.every((term) => fulfilsMost(survey, term))
  const left = [...terms.map((term) => term.filter), ...later]
  const found = isRolled && !isMost ? rolled<Row>(survey, asked, left) : undefined
  if (found) return found
  for (const filter of later) {
    const found = tried(filter)
    if (found) return found
  }
  return wide(survey, asked, {
    filters: terms.map(({ filter }) => filter),
    total: totalOf(survey, terms),
  })
}

/** Conditions that must all be fulfilled, one by one. */
const parts = (filter: Filter): readonly Filter[] => {
  if ("all" in filter) return filter.all.flatMap(parts)
  return "any" in filter && filter.any.length === 1 ? filter.any.flatMap(parts) : [filter]
}

/** Without what another one says as well: who begins with "Anna" begins with "Ann". */
const narrower = (filters: readonly Filter[]): readonly Filter[] =>
  filters.filter(
    (each, at) =>
      !filters.some(
        (other, index) =>
          index !== at && covers(each, other) && !(at < index && covers(other, each)),
      ),
  )

/** What is measured first: where that finds few, the others are not measured at all. */
function costOf(filter: Filter): number {
  if ("any" in filter) return 1 + filter.any.reduce((sum, each) => sum + costOf(each), 0)
  if ("all" in filter) return 1 + filter.all.reduce((sum, each) => sum + costOf(each), 0)
  if ("not" in filter) return 1 + costOf(filter.not)
  if (!("text" in filter)) return 0
  return filter.method === "equals" || filter.method === "starts_with" ? 1 : 5
}

/** Few rows are looked at one by one, and sorted. */
function narrow<Row>(
  survey: Survey,
  asked: Asked,
  { filters, way, term }: { readonly filters: readonly Filter[]; way: Way; term: Term },
): Rows<Row> {
  const others = filters.filter((each) => each !== term.filter)
  const isCounted = others.length === 0 && term.measure?.isExact
  const all = isCounted ? others : filters
  const total = isCounted ? (term.measure?.rows ?? 0) : count(survey, all, way)
  const { page, after } = asked
  const window = { filters: all, way, ...page, ...(after && { offset: 0, after }) }
  return { total, rows: windowOf<Row>(survey, asked, window) }
}

/** Whether a walk over the rows that don't is short, wherever they stand. */
const fulfilsMost = ({ total, few }: Survey, { measure: found }: Term): boolean =>
  found?.isExact === true && total - found.rows <= few

/** Whether the order is that of an index, or all that tells it is carried by that. */
function hasOrder({ cx, what }: Survey, asked: Asked, every: IndexPlace): boolean {
  if (asked.sort === what.sort) return true
  if (cx.store.index(what.table, asked.sort)?.usual !== undefined) return false
  return sortsOf(what, asked).every((name) => hasText(every, name))
}

/** Rows told by what is kept in memory of all of them. */
function rolled<Row>(
  survey: Survey,
  asked: Asked,
  filters: readonly Filter[],
): Rows<Row> | undefined {
  const { what } = survey
  const { page, after, sort } = asked
  const by = sort === what.sort ? [] : sortsOf(what, asked)
  const roll = rollIn(survey, filters, by)
  if (!roll) return undefined
  const { total } = roll
  const wanted = { ...page, ...(after && { offset: 0, after }) }
  const keys = by.length > 0 ? keysBy(roll, { ...wanted, by }) : keysIn(roll, wanted)
  if (!keys) return wide<Row>(survey, asked, { filters, total })
  const way = { index: undefined, sql: (built: Built) => among(built, what.key, keys) }
  const window = { filters: [], way, limit: keys.length, offset: 0, asc: page.asc }
  return { total, rows: keys.length > 0 ? windowOf<Row>(survey, asked, window) : [] }
}

function rollIn(
  { cx, what }: Survey,
  filters: readonly Filter[],
  needed: readonly string[] = [],
): Roll | undefined {
  const place = cx.store.index(what.table, what.sort)
  if (!place || !filters.every((each) => isCarried(place, each))) return undefined
  return rollOf(cx.store.ledger(cx, place), place, { key: what.key, filters, needed })
}

/** Many rows: those of the window are found by walking from the nearer end. */
function wide<Row>(
  survey: Survey,
  asked: Asked,
  { filters, total }: { readonly filters: readonly Filter[]; readonly total: number },
): Rows<Row> {
  const { offset, asc } = asked.page
  const { after: last } = asked
  const limit = Math.min(asked.page.limit, last ? total : total - offset)
  if (limit <= 0) return { total, rows: [] }
  const place = survey.cx.store.index(survey.what.table, asked.sort)
  if (place?.usual !== undefined) {
    return { total, rows: beside<Row>(survey, asked, { filters, place, total }) }
  }
  const way = place && { index: place.name, sql: () => "true" }
  if (last) {
    const window = { filters, way, limit, offset: 0, asc, after: last }
    return { total, rows: windowOf<Row>(survey, asked, window) }
  }
  const after = total - offset - limit
  const rank = asc ? offset : after
  if (filters.length === 0 && place && Math.min(offset, after) > near) {
    const { from, skip } = survey.cx.store.ledger(survey.cx, place).at(rank)
    const sql = (built: Built) => `${place.key} >= ${parameter(built, from)}`
    const way = { index: place.name, sql }
    const window = { filters, way, limit, offset: skip, asc: true }
    if (skip < Math.min(offset, after)) {
      return { total, rows: windowOf<Row>(survey, asked, window) }
    }
  }
  const isNear = offset <= after
  const window = { filters, way, limit, offset: isNear ? offset : after, asc: isNear === asc }
  return { total, rows: windowOf<Row>(survey, asked, window) }
}
/** So many rows are walked over faster than they are counted. */
const near = 2000

/**
 * Rows in the order of a column where nearly all are alike: those that come before these, these in
 * the order of the list's own column, and those that come after.
 */
function beside<Row>(
  survey: Survey,
  asked: Asked,
  {
    filters,
    place,
    total,
  }: { readonly filters: readonly Filter[]; readonly place: IndexPlace; readonly total: number },
): readonly Row[] {
  const { cx, what } = survey
  const every = cx.store.index(what.table, what.sort)
  const value = place.usual ?? ""
  const by = (how: string) => (built: Built) => `${place.key} ${how} ${parameter(built, value)}`
  const others = (how: string, range: Range) => {
    const way: Way = { index: place.name, sql: (built) => inIndex(place, by(how)(built)) }
    const isAll = filters.length === 0
    return {
      way,
      rows: isAll ? cx.store.ledger(cx, place).rows(range) : count(survey, filters, way),
    }
  }
  const before = others("<", { from: "", below: value })
  const after = others(">", { from: `${value}\u0000` })
  const rows = total - before.rows - after.rows
  const usual = { way: { index: every?.name, sql: by("=") }, rows, sort: what.sort }
  const { asc } = asked.page
  const parts = asc ? [before, usual, after] : [after, usual, before]
  const found: Row[] = []
  let { limit, offset: skip } = asked.page
  if (asked.after) {
    const last = order(`${asked.after[asked.sort]}`, value)
    const from = 1 + Math.sign(asc ? last : -last)
    for (const [at, { way, rows: _, ...sort }] of parts.entries()) {
      const left = limit - found.length
      if (at < from || left === 0) continue
      const window = { filters, way, limit: left, offset: 0, asc }
      const after = at === from ? { after: asked.after } : {}
      found.push(...windowOf<Row>(survey, { ...asked, ...sort }, { ...window, ...after }))
    }
    return found
  }
  for (const { way, rows, ...sort } of parts) {
    const some = Math.min(limit, rows - skip)
    if (some > 0) {
      const last = rows - skip - some
      const isNear = skip <= last
      const window = { filters, way, limit: some, offset: isNear ? skip : last }
      found.push(
        ...windowOf<Row>(survey, { ...asked, ...sort }, { ...window, asc: isNear === asc }),
      )
      limit -= some
    }
    skip = Math.max(0, skip - rows)
  }
  return found
}

/** How many rows fulfil all. Where all but a few do, those are counted that do not. */
function totalOf(survey: Survey, terms: readonly Term[]): number {
  const [only] = terms
  if (!only) return survey.total
  if (terms.length === 1 && only.measure?.isExact) return only.measure.rows
  for (const term of terms) {
    const others = excluded(survey, term)
    if (!others) continue
    const rest = terms.filter((each) => each !== term)
    const filters = rest.map(({ filter }) => filter)
    const fewer = others.map((way) => count(survey, filters, way))
    return fewer.reduce((sum, each) => sum - each, totalOf(survey, rest))
  }
  const filters = terms.map(({ filter }) => filter)
  return rollIn(survey, filters)?.total ?? count(survey, filters, undefined)
}

/** The ways to the few rows that do not have the value which almost all have. */
function excluded(survey: Survey, { filter, measure: found }: Term): readonly Way[] | undefined {
  if (!found?.isExact || survey.total - found.rows > survey.few) return undefined
  const past = wayPast(survey, filter)
  if (past) return [past]
  const one = singleOf(filter)
  const place = one && survey.cx.store.index(survey.what.table, one.column)
  if (!place || place.usual !== undefined) return undefined
  return ["<", ">"].map((by) => ({
    index: place.name,
    sql: (built) => `${place.key} ${by} ${parameter(built, one.value)}`,
  }))
}

function whereOf(survey: Survey, built: Built, filters: readonly Filter[], way: Way | undefined) {
  const what = open(survey.what)
  const found = filters.map((filter) => condition({ ...built, conditions: 0 }, what, filter))
  return ["instance = $instance", ...(way ? [way.sql(built)] : []), ...found].join(" AND ")
}

function count(survey: Survey, filters: readonly Filter[], way: Way | undefined): number {
  const { cx, what } = survey
  const built = blank()
  const where = whereOf(survey, built, filters, way)
  // Alternatives by several indexes cost far more than to read all rows as they stand.
  const source = way ? sourceOf(what, way) : `${what.table} NOT INDEXED`
  const sql = `SELECT count(*) AS total FROM ${source} WHERE ${where}`
  return cx.store.get(cx, known<{ total: number }>(sql), built.values)?.total ?? 0
}

type Window = {
  readonly filters: readonly Filter[]
  readonly way: Way | undefined
  readonly limit: number
  readonly offset: number
  readonly asc: boolean
  readonly after?: Bookmark | undefined
}

/** Finds the keys of the window first, which an index most often has, and then their rows. */
function windowOf<Row>(survey: Survey, asked: Asked, window: Window): readonly Row[] {
  const { cx, what } = survey
  const built = blank()
  const { filters, way, limit, offset, asc, after } = window
  const { sort, tie } = asked
  const onward = after ? ` AND ${following(built, what, { sort, tie, asc, after })}` : ""
  const where = whereOf(survey, built, filters, way) + onward
  const keys = `SELECT ${what.key} FROM ${sourceOf(what, way)} WHERE ${where}
    ${orderOf(what, asked, { asc })} LIMIT $limit OFFSET $offset`
  const rows = `SELECT * FROM ${what.table} WHERE instance = $instance AND ${what.key} IN (${keys})`
  const by = orderOf(what, asked, { asc: asked.page.asc, row: "t." })
  const sql = what.joined ? withJoined(what.joined, `(${rows})`) : `SELECT t.* FROM (${rows}) t`
  return cx.store.all(cx, known<Row>(`${sql} ${by}`), { ...built.values, limit, offset })
}
