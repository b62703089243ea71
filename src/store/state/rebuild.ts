import type { Database } from "bun:sqlite"
import type { AnyAggregate } from "../aggregate.ts"
import type { LogEvent } from "../log/log.ts"
import { decodeEvent, type EventRow, type Names } from "../log/row.ts"
import type { States } from "./state.ts"

export type RebuildStatesParts = {
  readonly database: Database
  readonly names: Names
  readonly aggregates: readonly AnyAggregate[]
  readonly states: States
  readonly upcast: (event: LogEvent) => LogEvent
}

/** The streams whose states were folded again, and the number of events processed. */
export type RebuildResult = { readonly streams: readonly string[]; readonly events: number }

/**
 * Folds the states again whose aggregate has changed. Decisions must not use outdated states, so
 * this runs before the first request, in one transaction: an interrupted start keeps the old
 * states. Takes about a second for 100,000 events.
 */
export function rebuildStates(parts: RebuildStatesParts): RebuildResult {
  const { database, aggregates } = parts
  const stale = findStale(database, aggregates)
  if (stale.length === 0) return { streams: [], events: 0 }
  return database.transaction(() => {
    const counts = stale.map((kind) => ({ stream: kind.stream, events: refoldAll(parts, kind) }))
    return {
      streams: counts.filter(({ events }) => events > 0).map(({ stream }) => stream),
      events: counts.reduce((sum, { events }) => sum + events, 0),
    }
  })()
}

/** Streams whose states this version computes differently. */
export const findStaleStates = (database: Database, aggregates: readonly AnyAggregate[]) =>
  findStale(database, aggregates).map(({ stream }) => stream)

/** Whether there are states that an older version has folded differently. */
export const hasOlderStates = (
  database: Database,
  aggregates: readonly AnyAggregate[],
): boolean => {
  const made = storedShapes(database)
  return findStale(database, aggregates).some(({ stream }) => made.has(stream))
}

function findStale(database: Database, aggregates: readonly AnyAggregate[]) {
  const made = storedShapes(database)
  return aggregates.filter((kind) => made.get(kind.stream) !== foldShapeOf(kind))
}

/** The fold shape by which the states of each stream were computed. */
const storedShapes = (database: Database): ReadonlyMap<string, string> =>
  new Map(
    database
      .query<{ stream: string; shape: string }, []>("SELECT stream, shape FROM fold")
      .all()
      .map(({ stream, shape }) => [stream, shape]),
  )

/** What the state rows of an aggregate depend on, besides the events. */
function foldShapeOf({ revision = 1, retention, expires }: AnyAggregate): string {
  const kept = retention === "audit" || expires ? `/${retention}` : ""
  return `${revision}${kept}`
}

function refoldAll(parts: RebuildStatesParts, kind: AnyAggregate): number {
  const { database } = parts
  const code = database
    .query<{ code: number }, [string]>("SELECT code FROM name WHERE name = ?")
    .get(kind.stream)?.code
  const count = code === undefined ? 0 : refoldStreams(parts, kind, code)
  database
    .query<unknown, [string, string]>(
      "INSERT INTO fold VALUES (?, ?) ON CONFLICT DO UPDATE SET shape = excluded.shape",
    )
    .run(kind.stream, foldShapeOf(kind))
  return count
}

function refoldStreams(parts: RebuildStatesParts, kind: AnyAggregate, code: number): number {
  const { database, names, states, upcast } = parts
  database.query<unknown, [string]>("DELETE FROM state WHERE stream = ?").run(kind.stream)
  // Each stream at once, and the streams in the order of their rows.
  const events = database.query<EventRow, [number]>(
    "SELECT * FROM event WHERE stream = ? ORDER BY instance, id, version",
  )
  let count = 0
  let folding = states.folding(kind)
  for (const row of events.iterate(code)) {
    const event = upcast(decodeEvent(row, names))
    if (event.version === 1) {
      folding.write()
      folding = states.folding(kind)
    }
    folding.add(event)
    count++
  }
  folding.write()
  return count
}
