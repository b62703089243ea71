import type { Database } from "bun:sqlite"

/** A filter for the events of an instance; absent criteria match everything. Times are ms UTC. */
export type EventFilter = {
  /** Event types and streams. */
  readonly types?: readonly string[] | undefined
  readonly streams?: readonly string[] | undefined
  /** Stream IDs. */
  readonly ids?: readonly string[] | undefined
  readonly editor?: string | undefined
  readonly owner?: string | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** A section of the log: after one position, up to another. */
export type EventWindow = EventFilter & {
  /** Only these positions. */
  readonly among?: readonly number[] | undefined
  readonly instance: string
  readonly after: number
  readonly upTo: number
  readonly asc: boolean
  readonly limit: number
}

const inNames = (column: string, list: string) =>
  `${column} IN (SELECT code FROM name WHERE name IN (SELECT value FROM json_each(${list})))`

/** The codes of type and stream names in the log; unknown names have none. */
export const findCodes = (database: Database, names: readonly string[]): readonly number[] =>
  database
    .query<{ code: number }, [string]>(
      "SELECT code FROM name WHERE name IN (SELECT value FROM json_each(?))",
    )
    .all(JSON.stringify(names))
    .map(({ code }) => code)

/** The positions of matching events, in the requested order. */
export function findPositions(database: Database, window: EventWindow): readonly number[] {
  const { instance, after, upTo, limit, types, streams, among, ...rest } = window
  const conditions: readonly (readonly [sql: string, value: string | number | undefined])[] = [
    ["instance = ?", instance],
    ["position > ?", after],
    ["position <= ?", upTo],
    ["position IN (SELECT value FROM json_each(?))", among && JSON.stringify(among)],
    [inNames("type", "?"), types && JSON.stringify(types)],
    [inNames("stream", "?"), streams && JSON.stringify(streams)],
    ["id IN (SELECT value FROM json_each(?))", rest.ids && JSON.stringify(rest.ids)],
    ["editor_user = ?", rest.editor],
    ["owner = ?", rest.owner],
    ["time >= ?", rest.since],
    ["time <= ?", rest.until],
  ]
  const parameters = conditions.flatMap(([sql, value]) =>
    value === undefined ? [] : [{ sql, value }],
  )
  // Few events have these IDs; otherwise only their order is known in advance.
  const indexHint = rest.ids === undefined ? "NOT INDEXED" : "INDEXED BY event_stream"
  const whereClause = parameters.map(({ sql }) => sql).join(" AND ")
  return database
    .query<{ position: number }, (string | number)[]>(
      `SELECT position FROM event ${indexHint} WHERE ${whereClause}
       ORDER BY position ${rest.asc ? "ASC" : "DESC"} LIMIT ?`,
    )
    .all(...parameters.map(({ value }) => value), limit)
    .map(({ position }) => position)
}
