import { headOf } from "../log/row.ts"
import type { BackgroundChunk } from "../view/rebuild.ts"
import type { PruneParts } from "./prune.ts"

/** Whose rows go, and what stays of them: the stream that tells that they are gone. */
export type PurgeLimits = {
  readonly instance: string
  /** The kind of stream that is kept, and the view that is made of it. */
  readonly keep: { readonly stream: string; readonly view: string }
  readonly stopped: () => boolean
  /** Whether another node takes it from the log that is shared. */
  readonly isFollowing?: boolean
}

/** Each chunk is a few milliseconds. */
const chunkStreams = 20
const chunkRows = 200

type StreamRow = { readonly stream: number; readonly id: string; readonly last: number }

/**
 * Takes away all that an instance had: rows, events, states, claims. It takes many small
 * transactions, others have their turn between them, and whoever breaks it off goes on with what is
 * left. Every reactor must have seen the instance's events. Answers how many rows went; none where
 * nothing was left, or while a view is made anew.
 */
export function purgeOf(parts: PruneParts): (limits: PurgeLimits) => Promise<number> {
  const { database, names, states, views, chunk } = parts
  const sql = {
    // The newest event stays: the next position follows from it.
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
    const kept = names.known(keep) ?? 0
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
    const isFree = () => views.rebuilding().length === 0
    const steps: readonly (() => number)[] = [
      () => views.erase(instance, { keep: keep.view, limit: chunkRows }),
      () => dropStreams(instance, keep.stream),
      () => sql.claims.run(instance, chunkRows).changes,
      () => sql.failed.run(instance).changes,
    ]
    let gone = 0
    while (parts.shared && !isFollowing && !stopped() && isFree()) {
      if ((await parts.shared.purge(instance, keep.stream, chunkRows)) === 0) break
    }
    for (const step of steps) gone += await repeat(chunk, stopped, () => (isFree() ? step() : 0))
    return gone
  }
}

/** Chunk after chunk, until there is nothing left; answers how much there was. */
async function repeat(
  chunk: BackgroundChunk,
  stopped: () => boolean,
  work: () => number,
): Promise<number> {
  let sum = 0
  while (!stopped()) {
    const count = await chunk(work, (gone) => gone > 0)
    if (count === 0) break
    sum += count
  }
  return sum
}
