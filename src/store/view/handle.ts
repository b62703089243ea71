import type { Database, Statement as Prepared } from "bun:sqlite"
import type { LogEvent } from "../log/log.ts"
import { physicalName, type TableGeneration } from "./generation.ts"
import type { Statement, Value, Values } from "./statement.ts"
import { bindParameters, type ViewWriter } from "./view.ts"

/** Runs statements on the tables of some generations. */
export type TableHandle = {
  readonly get: <Row>(query: Statement<Row>, fixed: Values, values?: Values) => Row | undefined
  readonly all: <Row>(query: Statement<Row>, fixed: Values, values?: Values) => readonly Row[]
  /** A statement with the tables' physical names. */
  readonly sql: (query: Statement) => string
  readonly writer: (eventValues: EventValues) => ViewWriter
}

/** The event values that reducers' statements can use. */
export type EventValues = Pick<
  LogEvent,
  "instance" | "id" | "version" | "position" | "time" | "owner"
>

/** Creates a handle for the tables of the given generations; each statement is prepared once. */
export function createHandle(
  database: Database,
  generations: readonly TableGeneration[],
): TableHandle {
  const names = new Map(
    generations.flatMap(({ view, generation }) =>
      Object.keys(view.tables).map((name) => [name, physicalName(name, generation)] as const),
    ),
  )
  const tables = new RegExp(`(?<![.$\\w])(${[...names.keys()].join("|") || "(?!)"})(?!\\w)`, "g")
  // Weak, so that unused searches don't keep their prepared statements.
  const cache = new WeakMap<Statement, Prepared<unknown, [Record<string, Value>] | Value[]>>()
  const sql = (query: Statement) => query.sql.replace(tables, (name) => names.get(name) ?? name)
  const prepared = (query: Statement) => {
    let found = cache.get(query)
    if (!found) {
      found = database.prepare<unknown, [Record<string, Value>] | Value[]>(sql(query))
      cache.set(query, found)
    }
    return found
  }
  const get = <Row>(query: Statement<Row>, fixed: Values, values?: Values) => {
    const found = prepared(query).get(bindParameters(query, fixed, values)) ?? undefined
    // Reason for the cast: the declaration of a statement states the type of its rows.
    const row = found as Row | undefined
    return row && query.decode ? query.decode(row) : row
  }
  // Reason for the cast: as above.
  const all = <Row>(query: Statement<Row>, fixed: Values, values?: Values) => {
    const rows = prepared(query).all(bindParameters(query, fixed, values)) as readonly Row[]
    return query.decode ? rows.map(query.decode) : rows
  }
  return {
    get,
    all,
    sql,
    writer: ({ instance, id, version, position, time, owner }) => {
      const eventValues = { instance, id, version, position, time, owner }
      return {
        run: (query, values) =>
          void prepared(query).run(bindParameters(query, eventValues, values)),
        get: (query, values) => get(query, eventValues, values),
        all: (query, values) => all(query, eventValues, values),
        write: (query, before, after) => void prepared(query).run(...before, instance, ...after),
      }
    },
  }
}
