import type { Database } from "bun:sqlite"
import type { EventRow, SummedBlob, SummedClaim } from "../row.ts"

export type Statements = ReturnType<typeof prepareStatements>

const selectLast = `SELECT max(position) AS last FROM (SELECT position FROM event
  WHERE position > ? AND position <= ? ORDER BY position LIMIT ?)`
const selectEventsAt = "SELECT * FROM event WHERE position IN (SELECT value FROM json_each(?))"

/** Positional parameters: this is the most frequent code, and all its statements are here. */
export function prepareStatements(database: Database) {
  const prepare = <Row = unknown>(text: string) =>
    // Reason for the cast: bun:sqlite types parameters per statement; tests check ours.
    database.prepare<Row, (string | number | Uint8Array | null)[]>(text)
  return {
    // Seven times as fast as ORDER BY or max() for the newest version.
    versions: prepare<{ version: number }>(
      `SELECT version FROM event WHERE instance = ? AND stream = ? AND id = ? AND version >= ?
       LIMIT 2`,
    ),
    insert: prepare(
      `INSERT INTO event (position, instance, stream, id, version, type, revision, data, private,
         time, editor_user, editor_client, owner, correlation, erase, sum, private_sum)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    eraseAll: prepare(
      `UPDATE event SET private = NULL, private_sum = NULL
       WHERE instance = ? AND stream = ? AND id = ? AND version < ?`,
    ),
    eraseType: prepare(
      `UPDATE event SET private = NULL, private_sum = NULL
       WHERE instance = ? AND stream = ? AND id = ? AND version < ? AND type = ?`,
    ),
    claim: prepare<SummedClaim>("SELECT * FROM claim WHERE instance = ? AND kind = ? AND key = ?"),
    take: prepare(
      `INSERT INTO claim (instance, kind, key, stream, id, expires, sum)
       VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    retake: prepare(
      `UPDATE claim SET stream = ?, id = ?, expires = ?, sum = ?
       WHERE instance = ? AND kind = ? AND key = ?`,
    ),
    idTime: prepare(
      `INSERT INTO meta (key, value) VALUES ('ids', ?)
       ON CONFLICT DO UPDATE SET value = excluded.value`,
    ),
    release: prepare(
      `DELETE FROM claim
       WHERE instance = ? AND kind = ? AND key = ? AND stream = ? AND id = ?`,
    ),
    blob: prepare<SummedBlob>(
      "SELECT * FROM blob WHERE instance = ? AND id = ? AND stream = ? AND name = ?",
    ),
    putBlob: prepare(
      `INSERT INTO blob (instance, id, stream, name, sum, bytes) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET sum = excluded.sum, bytes = excluded.bytes`,
    ),
    dropBlob: prepare("DELETE FROM blob WHERE instance = ? AND id = ? AND stream = ? AND name = ?"),
    dropBlobs: prepare("DELETE FROM blob WHERE instance = ? AND id = ? AND stream = ?"),
    read: prepare<EventRow>(
      "SELECT * FROM event WHERE position > ? AND position <= ? ORDER BY position LIMIT ?",
    ),
    at: prepare<EventRow>(selectEventsAt),
    window: prepare<{ last: number | null }>(selectLast),
    onward: prepare<EventRow>(
      `SELECT * FROM event WHERE instance = ? AND stream = ? AND id = ? AND version > ?
         AND position <= ? AND time >= ? ORDER BY version LIMIT ?`,
    ),
    back: prepare<EventRow>(
      `SELECT * FROM event WHERE instance = ? AND stream = ? AND id = ? AND version < ?
         AND position <= ? AND time >= ? ORDER BY version DESC LIMIT ?`,
    ),
    find: prepare<EventRow>(
      `SELECT * FROM event WHERE position > ? AND position <= ?
         AND type IN (SELECT value FROM json_each(?)) ORDER BY position`,
    ),
  }
}
