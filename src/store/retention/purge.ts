import { headOf } from "../log/row.ts"
import type { BackgroundChunk } from "../view/rebuild.ts"
import type { PruneParts } from "./prune.ts"

/** The instance to purge, and the stream that remains as a record of its removal. */
export type PurgeLimits = {
  readonly instance: string
  /** The stream to keep, and its view. */
  readonly keep: { readonly stream: string; readonly view: string }
  readonly stopped: () => boolean
  /** Whether another node purges the shared log. */
  readonly isFollowing?: boolean
}

/** Each chunk takes a few milliseconds. */
const chunkStreams = 20
const chunkRows = 200

type StreamRow = { readonly stream: number; readonly id: string; readonly last: number }

/**
 * Deletes all data of an instance: rows, events, states, claims. Uses many small transactions, in
 * turn with other work, and can be resumed after an interruption. Every reactor must have seen the
 * instance's events. Returns the number of deleted rows; 0 if nothing was left, or while a view is
 * being rebuilt.
 */
export function createPurge(parts: PruneParts): (limits: PurgeLimits) => Promise<number> {
  const { database, names, states, views, chunk } = parts
  const sql = {
    // The newest event stays: the next position is derived from it.
    streams: database.prepare<StreamRow, [string, number, number, number]>(
      `SELECT stream, id, max(position) AS last FROM event
       WHERE instance = ? AND stream <> ? GROUP BY id, stream HAVING last < ? LIMIT ?`,
    ),
    events: database.prepare<unknown, [string, number, string]>(
      "DELETE FROM event WHERE instance = ? AND stream = ? AND id = ?",
    ),
    blobs: database.prepare<unknown, [string, string, string]>(
      "DELETE FROM blob WHERE instance = ? AND id = ? AND stream = ?",
    ),
    note: database.prepare<unknown, [number]>(
      `INSERT INTO meta (key, value) VALUES ('pruned', ?)
       ON CONFLICT DO UPDATE SET value = value + excluded.value`,
    ),
    claims: database.prepare<unknown, [string, number]>(
      `DELETE FROM claim WHERE (instance, kind, key) IN
         (SELECT instance, kind, key FROM claim WHERE instance = ? LIMIT ?)`,
    ),
    failed: database.prepare<unknown, [string]>("DELETE FROM failed_event WHERE instance = ?"),
  }
  const dropStreams = (instance: string, keep: string): number => {
    const kept = names.findCode(keep) ?? 0
    const rows = sql.streams.all(instance, kept, headOf(database), chunkStreams)
    if (rows.length === 0) return 0
    database.transaction(() => {
      for (const { stream, id } of rows) {
        const { changes } = sql.events.run(instance, stream, id)
        sql.blobs.run(instance, id, names.name(stream))
        sql.note.run(changes)
        states.drop(instance, names.name(stream), id)
      }
    })()
    parts.dropped([])
    return rows.length
  }
  return async ({ instance, keep, stopped, isFollowing = false }) => {
    const isIdle = () => views.rebuilding().length === 0
    const steps: readonly (() => number)[] = [
      () => views.erase(instance, { keep: keep.view, limit: chunkRows }),
      () => dropStreams(instance, keep.stream),
      () => sql.claims.run(instance, chunkRows).changes,
      () => sql.failed.run(instance).changes,
    ]
    let deletedRows = 0
    while (parts.shared && !isFollowing && !stopped() && isIdle()) {
      if ((await parts.shared.purge(instance, keep.stream, chunkRows)) === 0) break
    }
    for (const step of steps)
      deletedRows += await repeatChunks(chunk, stopped, () => (isIdle() ? step() : 0))
    return deletedRows
  }
}

/** Runs chunks until nothing is left; returns the total. */
async function repeatChunks(
  chunk: BackgroundChunk,
  stopped: () => boolean,
  work: () => number,
): Promise<number> {
  let sum = 0
  while (!stopped()) {
    const count = await chunk(work, (deletedRows) => deletedRows > 0)
    if (count === 0) break
    sum += count
  }
  return sum
}
