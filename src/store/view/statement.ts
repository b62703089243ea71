import { isProduction } from "../../runtime/production.ts"

/**
 * An SQL statement, declared once as a constant. Every statement works within one instance, which
 * the handle binds as `$instance`; one that does not name it is refused: where it is developed and
 * tested when it is declared, in the binary, which was, when it is used. Tables are named as their
 * view declares them.
 */
export type Statement<Row = unknown> = {
  readonly sql: string
  /** The names of its parameters, `$instance` among them. */
  readonly parameters: readonly string[]
  /** Carries the type of its rows; never set. */
  readonly row?: Row
  /** Turns stored values of a row into those of its type; not set where they are the same. */
  decode?<Read>(row: Read): Read
}

export type Value = string | number | bigint | boolean | null | Uint8Array
export type Values = Readonly<Record<string, Value>>

export function statement<Row = unknown>(sql: string, isLate = isProduction): Statement<Row> {
  if (!isLate) refuseUnbound(sql)
  return declared(sql, refuseUnbound)
}

/** Two hundred are declared at every start, which uses few: each is read with its first use. */
function declared<Row>(sql: string, refuse: (sql: string) => void): Statement<Row> {
  let parameters: readonly string[] | undefined
  return {
    sql,
    get parameters() {
      if (!parameters) {
        refuse(sql)
        parameters = [...new Set([...sql.matchAll(/\$(\w+)/g)].map((match) => match[1] ?? ""))]
      }
      return parameters
    },
  }
}

function refuseUnbound(sql: string): void {
  const bindings = sql.match(/\binstance\s*=\s*(\$instance\b|\w+\.instance\b)/g)?.length ?? 0
  const inserts = insertsInstance(sql) ? 1 : 0
  if (bindings + inserts < tablesIn(sql) || !/\$instance\b/.test(sql)) {
    throw new Error(`a statement must bind every table to $instance: ${sql.trim()}`)
  }
}

/** `INSERT INTO t (instance, …) VALUES ($instance, …)`. */
const insertsInstance = (sql: string): boolean =>
  /^\s*(INSERT|REPLACE)\b[^(]*\(\s*instance\b[^)]*\)\s*(VALUES\s*\(|SELECT\b)\s*\$instance\b/i.test(
    sql,
  )

/** How often the statement names a table; each time wants its own `instance = …`. */
function tablesIn(sql: string): number {
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

/** A statement of the process itself, across instances; says why that is right. */
export function systemStatement<Row = unknown>(sql: string, reason: string): Statement<Row> {
  if (!reason) throw new Error(`a statement across instances needs a reason: ${sql}`)
  return declared(sql, () => undefined)
}
