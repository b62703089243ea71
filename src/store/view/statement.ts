import { isProduction } from "../../runtime/production.ts"

/**
 * An SQL statement, declared once as a constant. Every statement works within one instance, bound
 * as `$instance`; a statement without it is rejected: on declaration in development and tests, and
 * on first use in the binary. Tables have the names of their view's declaration.
 */
export type Statement<Row = unknown> = {
  readonly sql: string
  /** The names of its parameters, including `$instance`. */
  readonly parameters: readonly string[]
  /** Carries the type of its rows; never set. */
  readonly row?: Row
  /** Decodes stored values into those of the row's type; absent if they are the same. */
  decode?<Read>(row: Read): Read
}

export type Value = string | number | bigint | boolean | null | Uint8Array
export type Values = Readonly<Record<string, Value>>

export function statement<Row = unknown>(sql: string, isLate = isProduction): Statement<Row> {
  if (!isLate) requireInstanceBinding(sql)
  return declareStatement(sql, requireInstanceBinding)
}

/** Parsed on first use: a start declares two hundred statements and uses few. */
function declareStatement<Row>(sql: string, validate: (sql: string) => void): Statement<Row> {
  let parameters: readonly string[] | undefined
  return {
    sql,
    get parameters() {
      if (!parameters) {
        validate(sql)
        parameters = [...new Set([...sql.matchAll(/\$(\w+)/g)].map((match) => match[1] ?? ""))]
      }
      return parameters
    },
  }
}

function requireInstanceBinding(sql: string): void {
  const bindings = sql.match(/\binstance\s*=\s*(\$instance\b|\w+\.instance\b)/g)?.length ?? 0
  const inserts = insertsInstance(sql) ? 1 : 0
  if (bindings + inserts < countTables(sql) || !/\$instance\b/.test(sql)) {
    throw new Error(`a statement must bind every table to $instance: ${sql.trim()}`)
  }
}

/** `INSERT INTO t (instance, …) VALUES ($instance, …)`. */
const insertsInstance = (sql: string): boolean =>
  /^\s*(INSERT|REPLACE)\b[^(]*\(\s*instance\b[^)]*\)\s*(VALUES\s*\(|SELECT\b)\s*\$instance\b/i.test(
    sql,
  )

/** How often the statement names a table; each one needs its own `instance = …`. */
function countTables(sql: string): number {
  const named = [...sql.matchAll(/(?<![$.\w])(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)/gi)].map(
    (match) => match[1],
  )
  const local = new Set(
    [...sql.matchAll(/(?:\bWITH|\bRECURSIVE|,)\s+(\w+)(?:\s*\([^)]*\))?\s+AS\s*\(/gi)].map(
      (match) => match[1],
    ),
  )
  return named.filter(
    (name) => !/^(json_each|json_tree|set)$/i.test(name ?? "") && !local.has(name),
  ).length
}

/** A statement of the process itself, across instances; `reason` states why this is right. */
export function systemStatement<Row = unknown>(sql: string, reason: string): Statement<Row> {
  if (!reason) throw new Error(`a statement across instances requires a reason: ${sql}`)
  return declareStatement(sql, () => undefined)
}
