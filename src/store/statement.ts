/**
 * An SQL statement, declared once as a constant. Every statement works within one instance, which
 * the handle binds as `$instance`; one that does not name it is refused when it is declared, that
 * is at start. Tables are named as their view declares them.
 */
export type Statement<Row = unknown> = {
  readonly sql: string
  /** The names of its parameters, `$instance` among them. */
  readonly parameters: readonly string[]
  /** Carries the type of its rows; never set. */
  readonly row?: Row
}

export type Value = string | number | bigint | boolean | null | Uint8Array
export type Values = Readonly<Record<string, Value>>

export function statement<Row = unknown>(sql: string): Statement<Row> {
  const parameters = [...new Set([...sql.matchAll(/\$(\w+)/g)].map((match) => match[1] ?? ""))]
  if (!/\binstance\s*=\s*\$instance\b/.test(sql) && !insertsInstance(sql)) {
    throw new Error(`a statement must be bound to $instance: ${sql.trim()}`)
  }
  return { sql, parameters }
}

/** `INSERT INTO t (instance, …) VALUES ($instance, …)`. */
const insertsInstance = (sql: string): boolean =>
  /^\s*(INSERT|REPLACE)\b[^(]*\(\s*instance\b[^)]*\)\s*VALUES\s*\(\s*\$instance\b/i.test(sql)

/** A statement of the process itself, across instances; says why that is right. */
export function systemStatement<Row = unknown>(sql: string, reason: string): Statement<Row> {
  if (!reason) throw new Error(`a statement across instances needs a reason: ${sql}`)
  const parameters = [...new Set([...sql.matchAll(/\$(\w+)/g)].map((match) => match[1] ?? ""))]
  return { sql, parameters }
}
