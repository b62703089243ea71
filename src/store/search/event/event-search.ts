import type { Database } from "bun:sqlite"
import { type EventWindow, positionsIn } from "../../log/event-window.ts"
import type { EventIndex } from "./event-index.ts"

/** Some of what is asked for. The next look begins after `reached`, or before what follows it. */
export type FoundEvents = {
  readonly positions: readonly number[]
  readonly reached: number
  /** Whether the index lacks much. */
  readonly isBehind: boolean
}

/** Without an index so many positions are looked through at a time: a few tens of milliseconds. */
const sliceMax = 50_000

/** A look at the first part of a window; the index says what it knows, and the log the rest. */
export function searchEvents(
  database: Database,
  index: EventIndex,
  window: EventWindow,
): FoundEvents {
  const { after, upTo, asc, ids } = window
  const end = asc ? upTo : after
  // Few events have these ids, and the log has an index of ids.
  if (ids !== undefined) {
    return { positions: positionsIn(database, window), reached: end, isBehind: false }
  }
  const isBehind = index.isBehind()
  const known = index.upTo()
  if (asc ? after < known : upTo <= known) {
    return { ...indexed(database, index, { ...window, upTo: Math.min(upTo, known) }), isBehind }
  }
  const slice = asc
    ? { after, upTo: Math.min(upTo, after + sliceMax) }
    : { after: Math.max(after, upTo - sliceMax, known), upTo }
  const positions = positionsIn(database, { ...window, ...slice })
  return { positions, reached: asc ? slice.upTo : slice.after, isBehind }
}

function indexed(database: Database, index: EventIndex, window: EventWindow) {
  const { positions: among, reached } = index.candidates(window)
  if (among.length === 0) return { positions: among, reached }
  const positions = positionsIn(database, { ...window, among })
  if (positions.length < Math.min(window.limit, among.length)) {
    const there = new Set(existing(database, among))
    index.forget(among.filter((position) => !there.has(position)))
  }
  return { positions, reached }
}

const existing = (database: Database, among: readonly number[]): readonly number[] =>
  database
    .query<{ position: number }, [string]>(
      "SELECT position FROM event WHERE position IN (SELECT value FROM json_each(?))",
    )
    .all(JSON.stringify(among))
    .map(({ position }) => position)
