import type { Database } from "bun:sqlite"
import { type EventWindow, findPositions } from "../../log/event-window.ts"
import type { EventIndex } from "./event-index.ts"

/**
 * A part of the result. The next search starts after `reached`, or before it in descending order.
 */
export type FoundEvents = {
  readonly positions: readonly number[]
  readonly reached: number
  /** Whether many events are missing in the index. */
  readonly isBehind: boolean
}

/** Positions to scan at a time without an index: takes a few tens of milliseconds. */
const maxSlice = 50_000

/**
 * Searches the first part of a window, with the index as far as it is complete, and in the log
 * beyond.
 */
export function searchEvents(
  database: Database,
  index: EventIndex,
  window: EventWindow,
): FoundEvents {
  const { after, upTo, asc, ids } = window
  const end = asc ? upTo : after
  // Few events have these IDs, and the log has an index of IDs.
  if (ids !== undefined) {
    return { positions: findPositions(database, window), reached: end, isBehind: false }
  }
  const isBehind = index.isBehind()
  const indexedUpTo = index.upTo()
  if (asc ? after < indexedUpTo : upTo <= indexedUpTo) {
    return {
      ...searchIndexed(database, index, { ...window, upTo: Math.min(upTo, indexedUpTo) }),
      isBehind,
    }
  }
  const slice = asc
    ? { after, upTo: Math.min(upTo, after + maxSlice) }
    : { after: Math.max(after, upTo - maxSlice, indexedUpTo), upTo }
  const positions = findPositions(database, { ...window, ...slice })
  return { positions, reached: asc ? slice.upTo : slice.after, isBehind }
}

function searchIndexed(database: Database, index: EventIndex, window: EventWindow) {
  const { positions: candidates, scannedTo } = index.candidates(window)
  if (candidates.length === 0) return { positions: candidates, reached: scannedTo }
  const positions = findPositions(database, { ...window, among: candidates })
  if (positions.length < Math.min(window.limit, candidates.length)) {
    const existingPositions = new Set(filterExisting(database, candidates))
    index.forget(candidates.filter((position) => !existingPositions.has(position)))
  }
  return { positions, reached: scannedTo }
}

const filterExisting = (database: Database, candidates: readonly number[]): readonly number[] =>
  database
    .query<{ position: number }, [string]>(
      "SELECT position FROM event WHERE position IN (SELECT value FROM json_each(?))",
    )
    .all(JSON.stringify(candidates))
    .map(({ position }) => position)
