import { Database, SQLiteError } from "bun:sqlite"
import { fdatasyncSync, openSync } from "node:fs"
import type { CheckpointRequest, Progress } from "./checkpoint.ts"

// The only code of ours that runs off the main thread: it copies the WAL into the database file
// through a connection of its own, so that no disk write of a checkpoint stalls the event loop.
declare const self: Worker

let database: Database | undefined
/** Of the database file; open as long as the process, since closing it drops SQLite's locks. */
let descriptor: number | undefined

self.onmessage = (event: MessageEvent<CheckpointRequest>) => {
  if ("close" in event.data) {
    database?.close()
    process.exit(0)
  }
  self.postMessage(checkpoint(event.data.file, event.data.empty))
}

function checkpoint(file: string, empty: boolean): Progress {
  try {
    database ??= connect(file)
    const row = database
      .query<{ busy: number; log: number; checkpointed: number }, []>(
        `PRAGMA wal_checkpoint(${empty ? "TRUNCATE" : "PASSIVE"})`,
      )
      .get()
    sync(file)
    const isEmpty = empty && row?.busy === 0
    return { frames: row?.log ?? 0, copied: row?.checkpointed ?? 0, isEmpty }
  } catch (cause) {
    // What a sync has failed on may be lost, though the next one succeeds.
    if (!(cause instanceof SQLiteError) || cause.code?.includes("FSYNC")) throw cause
    const { name, code = "", message } = cause
    return { frames: 0, copied: 0, isEmpty: false, refused: { name, code, message } }
  }
}

/**
 * SQLite syncs the file only where nobody has committed while it copied. What is copied beside
 * commits is written out here, or all of it would be by the copy that commits wait for. Windows
 * syncs no file that is open for reading alone.
 */
function sync(file: string): void {
  if (process.platform === "win32") return
  descriptor ??= openSync(file, "r")
  fdatasyncSync(descriptor)
}

function connect(file: string): Database {
  const connection = new Database(file, { readwrite: true, create: false, strict: true })
  // With NORMAL a checkpoint syncs the WAL before it copies, and the database file after.
  connection.run("PRAGMA synchronous = NORMAL")
  return connection
}
