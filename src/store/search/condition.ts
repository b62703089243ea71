import type { Scope } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import { fold, foldName } from "../../kernel/text/name.ts"
import type { TextTable } from "../view/indexes.ts"
import type { Value, Values } from "../view/statement.ts"
import { literal } from "../view/view.ts"
import { headOf, prefixed } from "./prefix.ts"
import type { TextComparison, TextCondition, TextMethod } from "./text/text-condition.ts"

/** What a row has in the columns that its list is sorted by. */
export type Cursor = Values

/** A condition over declared columns. */
export type Filter =
  | { readonly text: string; readonly method: TextMethod; readonly value: string }
  | { readonly equals: string; readonly value: Value }
  | { readonly compare: string; readonly by: "<" | "<=" | ">" | ">="; readonly value: number }
  | { readonly oneOf: string; readonly values: readonly Value[] }
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
  /** The column has what rows of another table have in one of theirs. */
  | { readonly in: string; readonly column: string; readonly of: Table; readonly where: Filter }

/** A table, or what stands for one as SQL, and those of its columns that may be searched. */
export type Table = {
  readonly table: string
  readonly columns: readonly string[]
  /** Columns with names in them: what is kept folded of these is so by `foldName`. */
  readonly names?: readonly string[]
  /** By a column, another one with the same in another order: both are looked at. */
  readonly also?: Readonly<Record<string, string>>
}

/**
 * What may be searched: one table, and the columns that tell who owns a row. The row is seen when
 * the caller's scope names its organisation, project or grant, or themselves.
 */
export type Searchable = Table & {
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
  /** Turns stored values of a row into those of its type; not set where they are the same. */
  decode?<Read>(row: Read): Read
}

export type Joined = {
  /** `t` is the row: "u.name AS user_name". */
  readonly select: string
  readonly from: string
  /** Those of `select` that can be searched and sorted by. */
  readonly columns: readonly string[]
}

/** A statement in the making, with its parameters. */
export type Built = {
  values: Record<string, Value>
  conditions: number
  /** Whether a condition or the order needs what is joined. */
  joins: boolean
  /** The value that nearly all rows have in a column, and which are not in its index. */
  readonly dominant?: (column: string) => string | undefined
  /** A table with a text index, and the conditions for which that may have candidates. */
  readonly texts?: { readonly table: TextTable; readonly conditions: TextCondition[] }
}

/** A table as it stands in a statement: a search has more, a table within a condition has not. */
type Source = Table & Partial<Pick<Searchable, "key" | "joined">>

export const blank = (): Built => ({ values: {}, conditions: 0, joins: false })

/** What the caller may see; undefined where that is everything. */
function visible(what: Searchable, scope: Scope): Filter | undefined {
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
export function condition(built: Built, what: Source, filter: Filter): string {
  const comparisons = comparisonsIn(what, filter)
  const { table, conditions } = built.texts ?? {}
  const isIndexed = comparisons?.every(({ column }) => table?.columns.includes(column))
  if (!comparisons || !conditions || !isIndexed) return plain(condition, { built, what, filter })
  const sql = plain(wholly, { built, what, filter })
  // Beginnings are found by an index of the table itself.
  if (comparisons.every(({ method }) => method === "equals" || method === "starts_with")) return sql
  const name = `t${conditions.length}`
  conditions.push({ name, comparisons })
  return `({${name}}${sql})`
}

type Part = { readonly built: Built; readonly what: Source; readonly filter: Filter }

/** A part of a filter for which a text index has candidates as a whole. */
const wholly: typeof condition = (built, what, filter) => plain(wholly, { built, what, filter })

function plain(each: typeof condition, { built, what, filter }: Part): string {
  if (++built.conditions > conditionsMax) throw tooManyError()
  const all = (filters: readonly Filter[]) => filters.map((other) => each(built, what, other))
  if ("all" in filter) return join(all(filter.all), " AND ", "true")
  if ("any" in filter) return join(all(filter.any), " OR ", "false")
  // What a NULL makes unknown is not the case either.
  if ("not" in filter) return `(${each(built, what, filter.not)}) IS NOT TRUE`
  if ("in" in filter) return inside(built, column(built, what, filter.in), filter)
  return apart(built, filter, leaf(built, what, filter))
}

/** The comparisons of a filter that is true where any of them is; undefined for another filter. */
function comparisonsIn(what: Source, filter: Filter): readonly TextComparison[] | undefined {
  if ("any" in filter) {
    const each = filter.any.map((other) => comparisonsIn(what, other))
    return each.length > 0 && each.every((some) => some !== undefined) ? each.flat() : undefined
  }
  if (!("text" in filter)) return undefined
  const { text: column, method } = filter
  const value = foldedValue(what, filter)
  const other = what.also?.[column]
  const columns = other ? [column, other] : [column]
  return value === "" ? undefined : columns.map((name) => ({ column: name, method, value }))
}

type Leaf = Exclude<
  Filter,
  { all: unknown } | { any: unknown } | { not: unknown } | { in: unknown }
>

function leaf(built: Built, what: Source, filter: Leaf): string {
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

/** Says of what a dominant value does not fulfil that it has another, so that an index finds it. */
function apart(built: Built, filter: Leaf, sql: string): string {
  const name = nameOf(filter)
  const own = built.dominant?.(name)
  if (own !== undefined)
    return isLike(own, filter) ? sql : `(${name} <> ${literal(own)} AND ${sql})`
  // Only where both are empty does one spelling say the other.
  const folded = built.dominant?.(`${name}_folded`)
  if (folded !== "" || isLike(folded, filter)) return sql
  return `(${name}_folded <> '' AND ${sql})`
}

/** Says that a row lacks the dominant value of a column, where a filter finds what has it. */
export function withoutDominant(built: Built, filter: Filter): string | undefined {
  if (!("oneOf" in filter || "equals" in filter)) return undefined
  const name = nameOf(filter)
  const own = built.dominant?.(name)
  return own !== undefined && isLike(own, filter) ? `${name} <> ${literal(own)}` : undefined
}

function nameOf(filter: Leaf): string {
  if ("text" in filter) return filter.text
  if ("equals" in filter) return filter.equals
  return "oneOf" in filter ? filter.oneOf : filter.compare
}

/** Whether a text fulfils a condition; it may where only the table can tell. */
function isLike(own: string, filter: Leaf): boolean {
  if ("equals" in filter) return own === filter.value
  if ("oneOf" in filter) return filter.values.includes(own)
  if ("compare" in filter) return true
  const { method, value } = filter
  // A value that is folded is empty where it was, and nothing else is told of it here.
  if (filter.text.endsWith("_folded") && own !== "") return true
  if (method === "equals") return own === value
  if (method === "starts_with") return own.startsWith(value)
  return method === "contains" ? own.includes(value) : own.endsWith(value)
}

/** A query is compiled before it runs: what a caller may nest has an end. */
const conditionsMax = 100

const tooManyError = () =>
  new Fault(
    "invalid_argument",
    "search.too_many_conditions",
    `a search may have at most ${conditionsMax} conditions; ask for lists of ids in one condition`,
  )

type Text = Extract<Filter, { text: string }>

function text(built: Built, what: Source, filter: Text): string {
  const own = textIn(built, what, filter)
  const other = what.also?.[filter.text]
  return other ? `(${own} OR ${textIn(built, what, { ...filter, text: other })})` : own
}

/** Folded as the column is. */
function foldedValue(what: Source, { text: name, value }: Text): string {
  const raw = rawOf(name)
  return raw === name ? value : foldingOf(what, raw)(value)
}

function textIn(built: Built, what: Source, filter: Text): string {
  const name = column(built, what, filter.text)
  const value = foldedValue(what, filter)
  const { method } = filter
  if (method === "equals") {
    const same = `${name} = ${parameter(built, value)}`
    const folded = foldingOf(what, name)(value)
    return within(what, { name, same, folded: (at) => `${at} = ${parameter(built, folded)}` })
  }
  if (method === "starts_with") {
    const head = headOf(value)
    return within(what, {
      name,
      same: between(built, name, value),
      folded: (at) => (head ? between(built, at, head) : undefined),
    })
  }
  // instr and substr compare bytes, so no character of the value is a wildcard.
  const requested = parameter(built, value)
  if (method === "contains") return `instr(${name}, ${requested}) > 0`
  return `(${requested} = '' OR substr(${name}, -length(${requested})) = ${requested})`
}

/** What is alike is alike folded, too, and most often it is the folded column that has an index. */
function within(
  what: Source,
  like: { name: string; same: string; folded: (column: string) => string | undefined },
): string {
  const column = `${like.name}_folded`
  const isKept = what.columns.includes(column) || what.joined?.columns.includes(column)
  const folded = isKept ? like.folded(column) : undefined
  return folded === undefined ? like.same : `(${folded} AND ${like.same})`
}

function between(built: Built, name: string, value: string): string {
  const { from, below } = prefixed(value)
  const start = `${name} >= ${parameter(built, from)}`
  return below === undefined ? start : `(${start} AND ${name} < ${parameter(built, below)})`
}

/** The column that another one is the folded form of; any other one is its own. */
const rawOf = (column: string): string => column.replace(/_folded$/, "")

const foldingOf = ({ names = [] }: Table, raw: string) => (names.includes(raw) ? foldName : fold)

/** Both tables are of one instance. */
function inside(
  built: Built,
  name: string,
  { column: other, of, where }: Extract<Filter, { in: string }>,
): string {
  const inner: Built = { ...blank(), values: built.values, conditions: built.conditions }
  const found = condition(inner, of, where)
  built.conditions = inner.conditions
  return `${name} IN
    (SELECT ${column(inner, of, other)} FROM ${of.table} WHERE instance = $instance AND ${found})`
}

const join = (conditions: readonly string[], by: string, none: string) =>
  conditions.length === 0 ? none : `(${conditions.join(by)})`

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
export function column(built: Built, what: Source, name: string): string {
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
  const raw = rawOf(sort)
  const isKept = what.columns.includes(raw) || what.joined?.columns.includes(raw)
  return [...new Set([sort, ...(isKept ? [raw] : []), ...(tie ? [tie] : []), what.key])]
}

/** The rows that come after one in an order. */
export function following(
  built: Built,
  what: Searchable,
  { after, asc, ...order }: Order & { readonly after: Cursor; readonly asc: boolean },
): string {
  const by = sortsOf(what, order)
  const values = by.map((name) => parameter(built, after[name] ?? null))
  const sql = `(${by.join(", ")}) ${asc ? ">" : "<"} (${values.join(", ")})`
  // Where nothing was joined there is a NULL, which SQLite sorts before everything else.
  return what.joined?.columns.includes(order.sort) && !asc ? `(${sql}) IS NOT FALSE` : sql
}

export const withJoined = ({ select, from }: Joined, table: string) =>
  `SELECT t.*, ${select} FROM ${table} t ${from}`
