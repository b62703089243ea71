import type { Database } from "bun:sqlite"

/** What is asked of the events of an instance; what is absent may be anything. Times are ms UTC. */
export type EventFilter = {
  /** Types of events, and kinds of streams. */
  readonly types?: readonly string[] | undefined
  readonly streams?: readonly string[] | undefined
  /** The ids of their streams. */
  readonly ids?: readonly string[] | undefined
  readonly editor?: string | undefined
  readonly owner?: string | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** A part of the log: what comes after one position, up to another one. */
export type EventWindow = EventFilter & {
  /** Only these of it. */
  readonly among?: readonly number[] | undefined
  readonly instance: string
  readonly after: number
  readonly upTo: number
  readonly asc: boolean
  readonly limit: number
}

const named = (column: string, list: string) =>
  `${column} IN (SELECT code FROM name WHERE name IN (SELECT value FROM json_each(${list})))`

/** The numbers by which the log keeps names of types and streams; unknown ones have none. */
export const codesOf = (database: Database, names: readonly string[]): readonly number[] =>
  database
    .query<{ code: number }, [string]>(
      "SELECT code FROM name WHERE name IN (SELECT value FROM json_each(?))",
    )
    .all(JSON.stringify(names))
    .map(({ code }) => code)

/** Where the events of a window stand, in the order that is asked. */
export function positionsIn(database: Database, window: EventWindow): readonly number[] {
  const { instance, after, upTo, limit, types, streams, among, ...rest } = window
  const wanted: readonly (readonly [sql: string, value: string | number | undefined])[] = [
    ["instance = ?", instance],
    ["position > ?", after],
    ["position <= ?", upTo],
    ["position IN (SELECT value FROM json_each(?))", among && JSON.stringify(among)],
    [named("type", "?"), types && JSON.stringify(types)],
    [named("stream", "?"), streams && JSON.stringify(streams)],
    ["id IN (SELECT value FROM json_each(?))", rest.ids && JSON.stringify(rest.ids)],
    ["editor_user = ?", rest.editor],
    ["owner = ?", rest.owner],
    ["time >= ?", rest.since],
    ["time <= ?", rest.until],
  ]
  const given = wanted.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]))
  // Few events have these ids; of anything else only their order is known ahead.
  const by = rest.ids === undefined ? "NOT INDEXED" : "INDEXED BY event_stream"
  return database
    .query<{ position: number }, (string | number)[]>(
      `SELECT position FROM event ${by} WHERE ${given.map(({ sql }) => sql).join(" AND ")}
       ORDER BY position ${rest.asc ? "ASC" : "DESC"} LIMIT ?`,
    )
    .all(...given.map(({ value }) => value), limit)
    .map(({ position }) => position)
}
