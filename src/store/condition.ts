import type { Scope } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import { fold } from "../kernel/name.ts"
import type { Bookmark } from "./bookmark.ts"
import type { Value } from "./statement.ts"

/** How a text is compared; the `_folded` kinds compare both sides folded (see `fold`). */
export type TextMethod = "equals" | "starts_with" | "contains" | "ends_with"

/** A condition over declared columns. */
export type Filter =
  | { readonly text: string; readonly method: TextMethod; readonly value: string }
  | { readonly equals: string; readonly value: Value }
  | { readonly compare: string; readonly by: "<" | "<=" | ">" | ">="; readonly value: number }
  | { readonly oneOf: string; readonly values: readonly Value[] }
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }

/**
 * What may be searched: one table, its columns, and the columns that tell who owns a row. The row
 * is seen when the caller's scope names its organisation, project or grant, or themselves.
 */
export type Searchable = {
  readonly table: string
  readonly columns: readonly string[]
  /**
   * What a row shows of other tables, where `table` names one. Only the rows of the window are
   * joined, unless a condition or the order is on one of these columns; so each row must join
   * exactly one of each, or none by a LEFT JOIN.
   */
  readonly joined?: Joined
  readonly owner: {
    readonly org?: string
    /** A second organisation that a row belongs to: to who gave a grant, and to who got it. */
    readonly otherOrg?: string
    readonly project?: string
    readonly grant?: string
    readonly self?: string
  }
  /** Sorts ties and stands in where nothing is asked; unique within an instance. */
  readonly key: string
  /** The column that sorts where the caller doesn't say. */
  readonly sort: string
}

export type Joined = {
  /** `t` is the row: "u.name AS user_name". */
  readonly select: string
  readonly from: string
  /** Those of `select` that can be searched and sorted by. */
  readonly columns: readonly string[]
  /** Where these are at home, so that they can be looked for there: joined by a JOIN. */
  readonly homes?: readonly Home[]
}

/** A table whose row a column names by its key, and what its columns are called here. */
export type Home = {
  readonly via: string
  readonly table: string
  readonly columns: Readonly<Record<string, string>>
}

/** A statement in the making, with its parameters. */
export type Built = {
  values: Record<string, Value>
  conditions: number
  /** Whether a condition or the order needs what is joined. */
  joins: boolean
}

export const blank = (): Built => ({ values: {}, conditions: 0, joins: false })

/** What the caller may see; undefined where that is everything. */
export function visible(what: Searchable, scope: Scope): Filter | undefined {
  if (scope.all) return undefined
  const { org, otherOrg, project, grant, self } = what.owner
  const among = (name: string | undefined, ids: readonly string[]): readonly Filter[] =>
    name && ids.length > 0 ? [{ oneOf: name, values: ids }] : []
  return {
    any: [
      ...among(org, scope.orgs),
      ...among(otherOrg, scope.orgs),
      ...among(project, scope.projects),
      ...among(grant, scope.grants),
      ...among(self, scope.self === undefined ? [] : [scope.self]),
    ],
  }
}

/** The scope as SQL. Who owns a row is the table's to say, so any of its columns may. */
export function scoped(built: Built, what: Searchable, scope: Scope): string {
  const seen = visible(what, scope)
  const columns = [...what.columns, ...Object.values(what.owner)]
  return seen ? condition({ ...built, conditions: 0 }, { ...what, columns }, seen) : "true"
}

/** A filter as SQL. */
export function condition(built: Built, what: Searchable, filter: Filter): string {
  if (++built.conditions > conditionsMax) throw tooMany()
  if ("all" in filter) return join(built, what, filter.all, " AND ", "true")
  if ("any" in filter) return join(built, what, filter.any, " OR ", "false")
  // What a NULL makes unknown is not the case either.
  if ("not" in filter) return `(${condition(built, what, filter.not)}) IS NOT TRUE`
  if ("oneOf" in filter) return among(built, column(built, what, filter.oneOf), filter.values)
  if ("equals" in filter) {
    return `${column(built, what, filter.equals)} = ${parameter(built, filter.value)}`
  }
  if ("compare" in filter) {
    const name = column(built, what, filter.compare)
    return `${name} ${filter.by} ${parameter(built, filter.value)}`
  }
  return text(built, what, filter)
}

/** A query is compiled before it runs: what a caller may nest has an end. */
const conditionsMax = 100

const tooMany = () =>
  new Fault(
    "invalid_argument",
    "search.too_many_conditions",
    `a search may have at most ${conditionsMax} conditions; ask for lists of ids in one condition`,
  )

function text(built: Built, what: Searchable, filter: Extract<Filter, { text: string }>): string {
  const name = column(built, what, filter.text)
  if (filter.method === "equals") {
    const same = `${name} = ${parameter(built, filter.value)}`
    const folded = `${name}_folded`
    // Texts that are equal are equal folded, too, and that is the column which has an index.
    const isKept = what.columns.includes(folded) || what.joined?.columns.includes(folded)
    return isKept ? `(${folded} = ${parameter(built, fold(filter.value))} AND ${same})` : same
  }
  if (filter.method === "starts_with") {
    const { from, below } = prefixed(filter.value)
    const start = `${name} >= ${parameter(built, from)}`
    return below === undefined ? start : `(${start} AND ${name} < ${parameter(built, below)})`
  }
  // instr and substr compare bytes, so no character of the value is a wildcard.
  const value = parameter(built, filter.value)
  if (filter.method === "contains") return `instr(${name}, ${value}) > 0`
  return `(${value} = '' OR substr(${name}, -length(${value})) = ${value})`
}

const join = (
  built: Built,
  what: Searchable,
  filters: readonly Filter[],
  ...[by, none]: [string, string]
) =>
  filters.length === 0
    ? none
    : `(${filters.map((filter) => condition(built, what, filter)).join(by)})`

/** A list is one JSON parameter, so its length doesn't make another statement. */
export function among(built: Built, name: string, values: readonly Value[]): string {
  const json = parameter(built, JSON.stringify(values))
  return `${name} IN (SELECT value FROM json_each(${json}))`
}

export function parameter(built: Built, value: Value): string {
  const name = `p${Object.keys(built.values).length}`
  built.values[name] = value
  return `$${name}`
}

/** Columns are names in SQL, so only declared ones get there. */
export function column(built: Built, what: Searchable, name: string): string {
  if (what.joined?.columns.includes(name)) {
    built.joins = true
    return name
  }
  if (name !== what.key && !what.columns.includes(name)) {
    throw new Error(`${what.table} can't be searched by ${name}`)
  }
  return name
}

/**
 * The order of a list: by a column, what is folded alike by its spelling, and the rest by the key,
 * so that no two rows stand alike; before the key by `tie`, if there is one.
 */
export function orderOf(
  what: Searchable,
  { sort, tie }: Order,
  { asc, row = "" }: { readonly asc: boolean; readonly row?: string },
): string {
  const by = sortsOf(what, { sort, tie })
  return `ORDER BY ${by.map((name) => `${row}${name} ${asc ? "ASC" : "DESC"}`).join(", ")}`
}

type Order = { readonly sort: string; readonly tie?: string | undefined }

/** The columns of an order; what they have tells where a row stands. */
export function sortsOf(what: Searchable, { sort, tie }: Order): readonly string[] {
  const raw = sort.replace(/_folded$/, "")
  const isKept = what.columns.includes(raw) || what.joined?.columns.includes(raw)
  return [...new Set([sort, ...(isKept ? [raw] : []), ...(tie ? [tie] : []), what.key])]
}

/** The rows that come after one in an order. */
export function following(
  built: Built,
  what: Searchable,
  { after, asc, ...order }: Order & { readonly after: Bookmark; readonly asc: boolean },
): string {
  const by = sortsOf(what, order)
  const values = by.map((name) => parameter(built, after[name] ?? null))
  const sql = `(${by.join(", ")}) ${asc ? ">" : "<"} (${values.join(", ")})`
  // Where nothing was joined there is a NULL, which SQLite sorts before everything else.
  return what.joined?.columns.includes(order.sort) && !asc ? `(${sql}) IS NOT FALSE` : sql
}

export const withJoined = ({ select, from }: Joined, table: string) =>
  `SELECT t.*, ${select} FROM ${table} t ${from}`

/** The range of the texts that start with one, in the order of their characters. */
export function prefixed(value: string): { readonly from: string; readonly below?: string } {
  const characters = [...value.toWellFormed()]
  const from = characters.join("")
  for (let last = characters.pop(); last !== undefined; last = characters.pop()) {
    const next = (last.codePointAt(0) ?? 0) + 1
    if (next > 0x10ffff) continue
    // What follows U+D7FF are halves of characters; no text has one.
    return {
      from,
      below: characters.join("") + String.fromCodePoint(next === 0xd800 ? 0xe000 : next),
    }
  }
  return { from }
}
