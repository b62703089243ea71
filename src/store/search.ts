import type { Scope } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import type { Found, Page } from "../kernel/page.ts"
import { type Statement, statement, type Value } from "./statement.ts"
import type { Cx } from "./store.ts"

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

type Joined = {
  /** `t` is the row: "u.name AS user_name". */
  readonly select: string
  readonly from: string
  /** Those of `select` that can be searched and sorted by. */
  readonly columns: readonly string[]
}

export type Query = {
  readonly page: Page
  readonly sort?: string
  readonly filters: readonly Filter[]
}

type Built = {
  sql: string
  values: Record<string, Value>
  conditions: number
  /** Whether a condition or the order needs what is joined. */
  joins: boolean
}

const statements = new Map<string, Statement>()

/**
 * The one way to list things: filters, the caller's scope, sorting, window and total. The total is
 * counted after scoping, so it tells nothing about rows that the caller may not see.
 */
export function search<Row>(cx: Cx, what: Searchable, query: Query): Found<Row> {
  if (!cx.scope) throw new Error(`a search of ${what.table} needs the scope of its caller`)
  const built: Built = { sql: "instance = $instance", values: {}, conditions: 0, joins: false }
  built.sql += ` AND ${scoped(built, what, cx.scope)}`
  for (const filter of query.filters) built.sql += ` AND ${condition(built, what, filter)}`

  const order = query.page.asc ? "ASC" : "DESC"
  const sort = column(built, what, query.sort ?? what.sort)
  const sorts = sort === what.key ? [sort] : [sort, what.key]
  const by = (row: string) => `ORDER BY ${sorts.map((name) => `${row}${name} ${order}`).join(", ")}`
  const { joined, table } = what
  const source = joined && built.joins ? `(${withJoined(joined, table)})` : table
  const total = `SELECT count(*) AS total FROM ${source} WHERE ${built.sql}`
  const window = `SELECT * FROM ${source} WHERE ${built.sql} ${by("")} LIMIT $limit OFFSET $offset`
  const rows = joined && !built.joins ? `${withJoined(joined, `(${window})`)} ${by("t.")}` : window
  return {
    total: cx.store.get(cx, known<{ total: number }>(total), built.values)?.total ?? 0,
    rows: cx.store.all(cx, known<Row>(rows), {
      ...built.values,
      limit: query.page.limit,
      offset: query.page.offset,
    }),
    limit: query.page.limit,
  }
}

const withJoined = ({ select, from }: Joined, table: string) =>
  `SELECT t.*, ${select} FROM ${table} t ${from}`

/** Statements by their text; shapes of queries are few, values are parameters. */
function known<Row>(sql: string): Statement<Row> {
  const found = statements.get(sql) ?? statement(sql)
  if (statements.size < statementsMax) statements.set(sql, found)
  // Reason for the cast: the text is the same, so is the shape of its rows.
  return found as Statement<Row>
}
const statementsMax = 2000

function scoped(built: Built, what: Searchable, scope: Scope): string {
  if (scope.all) return "true"
  const { org, otherOrg, project, grant, self } = what.owner
  const parts: string[] = []
  const among = (name: string | undefined, ids: readonly string[]) => {
    if (name && ids.length > 0) parts.push(list(built, name, ids))
  }
  among(org, scope.orgs)
  among(otherOrg, scope.orgs)
  among(project, scope.projects)
  among(grant, scope.grants)
  if (self && scope.self !== undefined) parts.push(list(built, self, [scope.self]))
  return parts.length > 0 ? `(${parts.join(" OR ")})` : "false"
}

function condition(built: Built, what: Searchable, filter: Filter): string {
  if (++built.conditions > conditionsMax) throw tooMany()
  if ("all" in filter) return join(built, what, filter.all, " AND ", "true")
  if ("any" in filter) return join(built, what, filter.any, " OR ", "false")
  // What a NULL makes unknown is not the case either.
  if ("not" in filter) return `(${condition(built, what, filter.not)}) IS NOT TRUE`
  if ("oneOf" in filter) return list(built, column(built, what, filter.oneOf), filter.values)
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
  // instr and substr compare bytes, so no character of the value is a wildcard.
  const value = parameter(built, filter.value)
  if (filter.method === "contains") return `instr(${name}, ${value}) > 0`
  if (filter.method === "starts_with") return `substr(${name}, 1, length(${value})) = ${value}`
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
function list(built: Built, name: string, values: readonly Value[]): string {
  const json = parameter(built, JSON.stringify(values))
  return `${name} IN (SELECT value FROM json_each(${json}))`
}

function parameter(built: Built, value: Value): string {
  const name = `p${Object.keys(built.values).length}`
  built.values[name] = value
  return `$${name}`
}

/** Columns are names in SQL, so only declared ones get there. */
function column(built: Built, what: Searchable, name: string): string {
  if (what.joined?.columns.includes(name)) {
    built.joins = true
    return name
  }
  if (name !== what.key && !what.columns.includes(name)) {
    throw new Error(`${what.table} can't be searched by ${name}`)
  }
  return name
}

/** One form for texts that only look different: compatibility forms and case are gone. */
export const fold = (value: string): string =>
  value.normalize("NFKC").toLowerCase().normalize("NFC")
