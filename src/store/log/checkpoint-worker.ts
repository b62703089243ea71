import { Database, SQLiteError } from "bun:sqlite"
import { fdatasyncSync, openSync } from "node:fs"
import type { CheckpointProgress, CheckpointRequest } from "./checkpoint.ts"

// The only store code outside the main thread: it copies the WAL into the database file on its own
// connection, so that no disk write of a checkpoint stalls the event loop.
declare const self: Worker

let database: Database | undefined
/**
 * Of the database file; open for the lifetime of the process, because closing it drops SQLite's
 * locks.
 */
let descriptor: number | undefined

self.onmessage = (event: MessageEvent<CheckpointRequest>) => {
  if ("close" in event.data) {
    database?.close()
    process.exit(0)
  }
  self.postMessage(checkpoint(event.data.file, event.data.empty))
}

function checkpoint(file: string, truncate: boolean): CheckpointProgress {
  try {
    database ??= connect(file)
    const row = database
      .query<{ busy: number; log: number; checkpointed: number }, []>(
        `PRAGMA wal_checkpoint(${truncate ? "TRUNCATE" : "PASSIVE"})`,
      )
      .get()
    sync(file)
    const isEmpty = truncate && row?.busy === 0
    return { frames: row?.log ?? 0, copied: row?.checkpointed ?? 0, isEmpty }
  } catch (cause) {
    // Data may be lost after a failed sync, even if the next one succeeds.
    if (!(cause instanceof SQLiteError) || cause.code?.includes("FSYNC")) throw cause
    const { name, code = "", message } = cause
    return { frames: 0, copied: 0, isEmpty: false, refused: { name, code, message } }
  }
}

/**
 * SQLite only syncs the file if there was no commit during the copy. Data that is copied during
 * commits is synced here; otherwise the copy that blocks commits would have to sync all of it.
 * Windows can't sync a file opened read-only.
 */
function sync(file: string): void {
  if (process.platform === "win32") return
  descriptor ??= openSync(file, "r")
  fdatasyncSync(descriptor)
}

function connect(file: string): Database {
  const connection = new Database(file, { readwrite: true, create: false, strict: true })
  // With NORMAL, a checkpoint syncs the WAL before it copies, and the database file afterwards.
  connection.run("PRAGMA synchronous = NORMAL")
  return connection
}
