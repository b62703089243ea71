import { Database } from "bun:sqlite"
import type { CheckpointRequest, Progress } from "./checkpoint.ts"

// The only code of ours that runs off the main thread: it copies the WAL into the database file
// through a connection of its own, so that no disk write of a checkpoint stalls the event loop.
declare const self: Worker

let database: Database | undefined

self.onmessage = (event: MessageEvent<CheckpointRequest>) => {
  if ("close" in event.data) {
    database?.close()
    process.exit(0)
  }
  database ??= new Database(event.data.file, { readwrite: true, create: false, strict: true })
  const row = database
    .query<{ busy: number; log: number; checkpointed: number }, []>("PRAGMA wal_checkpoint(PASSIVE)")
    .get()
  const answer: Progress = { frames: row?.log ?? 0, copied: row?.checkpointed ?? 0 }
  self.postMessage(answer)
}
