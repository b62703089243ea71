import type { Database, Statement as Prepared } from "bun:sqlite"
import type { LogEvent } from "../log/log.ts"
import { physical, type TableGeneration } from "./generation.ts"
import type { Statement, Value, Values } from "./statement.ts"
import { bound, type ViewWriter } from "./view.ts"

/** Statements against the tables of some generations. */
export type Handle = {
  readonly get: <Row>(query: Statement<Row>, fixed: Values, values?: Values) => Row | undefined
  readonly all: <Row>(query: Statement<Row>, fixed: Values, values?: Values) => readonly Row[]
  /** A statement with the tables' physical names. */
  readonly sql: (query: Statement) => string
  readonly writer: (at: Standing) => ViewWriter
}

/** What statements of reducers may use of an event. */
export type Standing = Pick<LogEvent, "instance" | "id" | "version" | "position" | "time" | "owner">

/** Runs statements against the tables of the given generations, prepared once each. */
export function handleOf(database: Database, generations: readonly TableGeneration[]): Handle {
  const names = new Map(
    generations.flatMap(({ view, generation }) =>
      Object.keys(view.tables).map((name) => [name, physical(name, generation)] as const),
    ),
  )
  const tables = new RegExp(`(?<![.$\\w])(${[...names.keys()].join("|") || "(?!)"})(?!\\w)`, "g")
  // Weak: a search that nobody asks any more must not keep its prepared statement.
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
  // Reason for the cast: a statement's Row type is its declaration's word about its columns.
  const get = <Row>(query: Statement<Row>, fixed: Values, values?: Values) => {
    const row = (prepared(query).get(bound(query, fixed, values)) ?? undefined) as Row | undefined
    return row && query.decode ? query.decode(row) : row
  }
  // Reason for the cast: the same.
  const all = <Row>(query: Statement<Row>, fixed: Values, values?: Values) => {
    const rows = prepared(query).all(bound(query, fixed, values)) as readonly Row[]
    return query.decode ? rows.map(query.decode) : rows
  }
  return {
    get,
    all,
    sql,
    writer: ({ instance, id, version, position, time, owner }) => {
      const at = { instance, id, version, position, time, owner }
      return {
        run: (query, values) => void prepared(query).run(bound(query, at, values)),
        get: (query, values) => get(query, at, values),
        all: (query, values) => all(query, at, values),
        write: (query, before, after) => void prepared(query).run(...before, instance, ...after),
      }
    },
  }
}
