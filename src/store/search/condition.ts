import type { Scope } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import { fold, foldName } from "../../kernel/text/name.ts"
import type { TextTable } from "../view/indexes.ts"
import type { Value, Values } from "../view/statement.ts"
import { sqlLiteral } from "../view/view.ts"
import { foldedPrefix, prefixRangeOf } from "./prefix.ts"
import type { TextComparison, TextCondition, TextMethod } from "./text/text-condition.ts"

/** A row's values in the columns that its list is sorted by. */
export type Cursor = Values

/** A condition on declared columns. */
export type Filter =
  | { readonly text: string; readonly method: TextMethod; readonly value: string }
  | { readonly equals: string; readonly value: Value }
  | { readonly compare: string; readonly by: "<" | "<=" | ">" | ">="; readonly value: number }
  | { readonly oneOf: string; readonly values: readonly Value[] }
  | { readonly all: readonly Filter[] }
  | { readonly any: readonly Filter[] }
  | { readonly not: Filter }
  /** Whether the column's value is one of another table's column. */
  | {
      readonly in: string
      readonly column: string
      readonly of: SearchTable
      readonly where: Filter
    }

/** A table, or an SQL expression for one, and its searchable columns. */
export type SearchTable = {
  readonly table: string
  readonly columns: readonly string[]
  /** Columns that contain names: their folded columns use `foldName`. */
  readonly names?: readonly string[]
  /** For columns with an alternative, such as the same name in another order: both are compared. */
  readonly also?: Readonly<Record<string, string>>
}

/**
 * A searchable table, and the columns that identify the owner of a row. A row is visible if the
 * caller's scope contains its organization, project or grant, or if it is the caller's own.
 */
export type Searchable = SearchTable & {
  /**
   * Values from other tables; `table` is then the name of a real table. Only the rows of the page
   * are joined, unless a condition or the order uses one of these columns; therefore each row must
   * join exactly one row of each, or none with a LEFT JOIN.
   */
  readonly joined?: Joined
  readonly owner: {
    readonly org?: string
    /**
     * A second organization that a row belongs to: a project grant belongs to the organization that
     * granted it and to the one that received it.
     */
    readonly otherOrg?: string
    readonly project?: string
    readonly grant?: string
    readonly self?: string
  }
  /** Breaks ties and is the default order; unique within an instance. */
  readonly key: string
  /** The default sort column. */
  readonly sort: string
  /** Decodes stored values into those of the row's type; absent if they are the same. */
  decode?<Read>(row: Read): Read
}

export type Joined = {
  /** `t` is the row: "u.name AS user_name". */
  readonly select: string
  readonly from: string
  /** The columns of `select` that can be searched and sorted by. */
  readonly columns: readonly string[]
}

/** A statement under construction, with its parameters. */
export type StatementBuilder = {
  values: Record<string, Value>
  conditions: number
  /** Whether a condition or the order uses joined columns. */
  joins: boolean
  /** The value that nearly all rows have in a column, and that its index therefore excludes. */
  readonly dominant?: (column: string) => string | undefined
  /** A table with a text index, and the conditions that may use it. */
  readonly texts?: { readonly table: TextTable; readonly conditions: TextCondition[] }
}

/** A table in a statement: searches have more properties than tables in a condition. */
type Source = SearchTable & Partial<Pick<Searchable, "key" | "joined">>

export const createBuilder = (): StatementBuilder => ({ values: {}, conditions: 0, joins: false })

/** What the caller may see; undefined for everything. */
function visibilityFilter(source: Searchable, scope: Scope): Filter | undefined {
  if (scope.all) return undefined
  const { org, otherOrg, project, grant, self } = source.owner
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

/** The scope as SQL. Owner columns may be any column of the table. */
export function scopeCondition(
  builder: StatementBuilder,
  source: Searchable,
  scope: Scope,
): string {
  const seen = visibilityFilter(source, scope)
  const columns = [...source.columns, ...Object.values(source.owner)]
  return seen
    ? filterCondition({ ...builder, conditions: 0 }, { ...source, columns }, seen)
    : "true"
}

/** A filter as SQL. */
export function filterCondition(builder: StatementBuilder, source: Source, filter: Filter): string {
  const comparisons = comparisonsIn(source, filter)
  const { table, conditions } = builder.texts ?? {}
  const isIndexed = comparisons?.every(({ column }) => table?.columns.includes(column))
  if (!comparisons || !conditions || !isIndexed)
    return buildCondition(filterCondition, { built: builder, what: source, filter })
  const sql = buildCondition(nestedCondition, { built: builder, what: source, filter })
  // The table's own index is used for prefixes.
  if (comparisons.every(({ method }) => method === "equals" || method === "starts_with")) return sql
  const name = `t${conditions.length}`
  conditions.push({ name, comparisons })
  return `({${name}}${sql})`
}

type ConditionPart = {
  readonly built: StatementBuilder
  readonly what: Source
  readonly filter: Filter
}

/** A nested part of a filter that the text index covers as a whole. */
const nestedCondition: typeof filterCondition = (builder, source, filter) =>
  buildCondition(nestedCondition, { built: builder, what: source, filter })

function buildCondition(
  each: typeof filterCondition,
  { built: builder, what: source, filter }: ConditionPart,
): string {
  if (++builder.conditions > maxConditions) throw tooManyConditionsError()
  const all = (filters: readonly Filter[]) => filters.map((other) => each(builder, source, other))
  if ("all" in filter) return joinConditions(all(filter.all), " AND ", "true")
  if ("any" in filter) return joinConditions(all(filter.any), " OR ", "false")
  // A condition that is unknown because of NULL is treated as not met.
  if ("not" in filter) return `(${each(builder, source, filter.not)}) IS NOT TRUE`
  if ("in" in filter)
    return membershipCondition(builder, requireColumn(builder, source, filter.in), filter)
  return excludeDominant(builder, filter, leafCondition(builder, source, filter))
}

/** The comparisons of a disjunction; undefined for other filters. */
function comparisonsIn(source: Source, filter: Filter): readonly TextComparison[] | undefined {
  if ("any" in filter) {
    const each = filter.any.map((other) => comparisonsIn(source, other))
    return each.length > 0 && each.every((some) => some !== undefined) ? each.flat() : undefined
  }
  if (!("text" in filter)) return undefined
  const { text: column, method } = filter
  const value = foldedValue(source, filter)
  const other = source.also?.[column]
  const columns = other ? [column, other] : [column]
  return value === "" ? undefined : columns.map((name) => ({ column: name, method, value }))
}

type Leaf = Exclude<
  Filter,
  { all: unknown } | { any: unknown } | { not: unknown } | { in: unknown }
>

function leafCondition(builder: StatementBuilder, source: Source, filter: Leaf): string {
  if ("oneOf" in filter)
    return inList(builder, requireColumn(builder, source, filter.oneOf), filter.values)
  if ("equals" in filter) {
    return (
      `${requireColumn(builder, source, filter.equals)} = ` +
      `${addParameter(builder, filter.value)}`
    )
  }
  if ("compare" in filter) {
    const name = requireColumn(builder, source, filter.compare)
    return `${name} ${filter.by} ${addParameter(builder, filter.value)}`
  }
  return textCondition(builder, source, filter)
}

/**
 * Adds a condition that excludes the dominant value if that doesn't match, so that the index can be
 * used.
 */
function excludeDominant(builder: StatementBuilder, filter: Leaf, sql: string): string {
  const name = columnOf(filter)
  const dominantValue = builder.dominant?.(name)
  if (dominantValue !== undefined)
    return mayMatch(dominantValue, filter)
      ? sql
      : `(${name} <> ${sqlLiteral(dominantValue)} AND ${sql})`
  // Both spellings exclude each other only if the dominant value is empty.
  const folded = builder.dominant?.(`${name}_folded`)
  if (folded !== "" || mayMatch(folded, filter)) return sql
  return `(${name}_folded <> '' AND ${sql})`
}

/** A condition that excludes the dominant value of a column, if a filter matches it. */
export function withoutDominant(builder: StatementBuilder, filter: Filter): string | undefined {
  if (!("oneOf" in filter || "equals" in filter)) return undefined
  const name = columnOf(filter)
  const dominantValue = builder.dominant?.(name)
  return dominantValue !== undefined && mayMatch(dominantValue, filter)
    ? `${name} <> ${sqlLiteral(dominantValue)}`
    : undefined
}

function columnOf(filter: Leaf): string {
  if ("text" in filter) return filter.text
  if ("equals" in filter) return filter.equals
  return "oneOf" in filter ? filter.oneOf : filter.compare
}

/** Whether a value meets a condition; true if only the table can decide. */
function mayMatch(dominantValue: string, filter: Leaf): boolean {
  if ("equals" in filter) return dominantValue === filter.value
  if ("oneOf" in filter) return filter.values.includes(dominantValue)
  if ("compare" in filter) return true
  const { method, value } = filter
  // A folded value is empty only if the raw value is; nothing else is known about it here.
  if (filter.text.endsWith("_folded") && dominantValue !== "") return true
  if (method === "equals") return dominantValue === value
  if (method === "starts_with") return dominantValue.startsWith(value)
  return method === "contains" ? dominantValue.includes(value) : dominantValue.endsWith(value)
}

/** Limits nesting by callers, because a query is compiled before it runs. */
const maxConditions = 100

const tooManyConditionsError = () =>
  new Fault(
    "invalid_argument",
    "search.too_many_conditions",
    `a search can have at most ${maxConditions} conditions; use lists of IDs in one condition`,
  )

type Text = Extract<Filter, { text: string }>

function textCondition(builder: StatementBuilder, source: Source, filter: Text): string {
  const dominantValue = compareText(builder, source, filter)
  const other = source.also?.[filter.text]
  return other
    ? `(${dominantValue} OR ${compareText(builder, source, { ...filter, text: other })})`
    : dominantValue
}

/** The value, folded like the column. */
function foldedValue(source: Source, { text: name, value }: Text): string {
  const raw = rawColumnOf(name)
  return raw === name ? value : foldFunctionOf(source, raw)(value)
}

function compareText(builder: StatementBuilder, source: Source, filter: Text): string {
  const name = requireColumn(builder, source, filter.text)
  const value = foldedValue(source, filter)
  const { method } = filter
  if (method === "equals") {
    const same = `${name} = ${addParameter(builder, value)}`
    const folded = foldFunctionOf(source, name)(value)
    return withFolded(source, {
      name,
      same,
      folded: (at) => `${at} = ${addParameter(builder, folded)}`,
    })
  }
  if (method === "starts_with") {
    const head = foldedPrefix(value)
    return withFolded(source, {
      name,
      same: prefixRange(builder, name, value),
      folded: (at) => (head ? prefixRange(builder, at, head) : undefined),
    })
  }
  // instr and substr compare bytes, so that no character of the value is a wildcard.
  const parameterName = addParameter(builder, value)
  if (method === "contains") return `instr(${name}, ${parameterName}) > 0`
  return `(${parameterName} = '' OR substr(${name}, -length(${parameterName})) = ${parameterName})`
}

/** Adds a comparison of the folded column, which is implied and usually has an index. */
function withFolded(
  source: Source,
  like: { name: string; same: string; folded: (column: string) => string | undefined },
): string {
  const column = `${like.name}_folded`
  const isKept = source.columns.includes(column) || source.joined?.columns.includes(column)
  const folded = isKept ? like.folded(column) : undefined
  return folded === undefined ? like.same : `(${folded} AND ${like.same})`
}

function prefixRange(builder: StatementBuilder, name: string, value: string): string {
  const { from, below } = prefixRangeOf(value)
  const start = `${name} >= ${addParameter(builder, from)}`
  return below === undefined ? start : `(${start} AND ${name} < ${addParameter(builder, below)})`
}

/** The column that a folded column is derived from; other columns return themselves. */
const rawColumnOf = (column: string): string => column.replace(/_folded$/, "")

const foldFunctionOf = ({ names = [] }: SearchTable, raw: string) =>
  names.includes(raw) ? foldName : fold

/** Both tables belong to the same instance. */
function membershipCondition(
  builder: StatementBuilder,
  name: string,
  { column: other, of, where }: Extract<Filter, { in: string }>,
): string {
  const inner: StatementBuilder = {
    ...createBuilder(),
    values: builder.values,
    conditions: builder.conditions,
  }
  const found = filterCondition(inner, of, where)
  builder.conditions = inner.conditions
  return `${name} IN
    (SELECT ${requireColumn(inner, of, other)} FROM ${of.table}
      WHERE instance = $instance AND ${found})`
}

const joinConditions = (conditions: readonly string[], by: string, none: string) =>
  conditions.length === 0 ? none : `(${conditions.join(by)})`

/** A list is one JSON parameter, so that its length doesn't change the statement. */
export function inList(builder: StatementBuilder, name: string, values: readonly Value[]): string {
  const json = addParameter(builder, JSON.stringify(values))
  return `${name} IN (SELECT value FROM json_each(${json}))`
}

export function addParameter(builder: StatementBuilder, value: Value): string {
  const name = `p${Object.keys(builder.values).length}`
  builder.values[name] = value
  return `$${name}`
}

/** Columns are SQL identifiers, so only declared ones are allowed. */
export function requireColumn(builder: StatementBuilder, source: Source, name: string): string {
  if (source.joined?.columns.includes(name)) {
    builder.joins = true
    return name
  }
  if (name !== source.key && !source.columns.includes(name)) {
    throw new Error(`${source.table} is not searchable by ${name}`)
  }
  return name
}

/**
 * The order of a list: by a column, then for equal folded values by their spelling, then by `tie`,
 * if any, and by the key, which makes the order total.
 */
export function orderBy(
  source: Searchable,
  { sort, tie }: Order,
  { asc, row = "" }: { readonly asc: boolean; readonly row?: string },
): string {
  const by = sortColumns(source, { sort, tie })
  return `ORDER BY ${by.map((name) => `${row}${name} ${asc ? "ASC" : "DESC"}`).join(", ")}`
}

type Order = { readonly sort: string; readonly tie?: string | undefined }

/** The columns of an order; their values define the position of a row. */
export function sortColumns(source: Searchable, { sort, tie }: Order): readonly string[] {
  const raw = rawColumnOf(sort)
  const isKept = source.columns.includes(raw) || source.joined?.columns.includes(raw)
  return [...new Set([sort, ...(isKept ? [raw] : []), ...(tie ? [tie] : []), source.key])]
}

/** The condition for rows after a given one. */
export function afterCursor(
  builder: StatementBuilder,
  source: Searchable,
  { after, asc, ...order }: Order & { readonly after: Cursor; readonly asc: boolean },
): string {
  const by = sortColumns(source, order)
  const values = by.map((name) => addParameter(builder, after[name] ?? null))
  const sql = `(${by.join(", ")}) ${asc ? ">" : "<"} (${values.join(", ")})`
  // A LEFT JOIN without a match returns NULL, which SQLite sorts first.
  return source.joined?.columns.includes(order.sort) && !asc ? `(${sql}) IS NOT FALSE` : sql
}

export const withJoined = ({ select, from }: Joined, table: string) =>
  `SELECT t.*, ${select} FROM ${table} t ${from}`
