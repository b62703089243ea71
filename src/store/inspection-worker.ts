import { Database, SQLiteError } from "bun:sqlite"
import { delay } from "../kernel/clock.ts"
import { lowerThreadPriority } from "../runtime/thread.ts"
import type { InspectionRequest, InspectionResult } from "./inspection.ts"
import {
  blobName,
  claimName,
  type EventRow,
  isBlobWhole,
  isClaimWhole,
  isEventWhole,
  isStateWhole,
  type SummedBlob,
  type SummedClaim,
  type SummedState,
  stateName,
} from "./log/row.ts"

// Checks the database in the background, on a read-only connection and with pauses, so that it uses
// a small part of one core. Rows are read in chunks; SQLite checks the pages of a table in one go
// and keeps its snapshot meanwhile, which takes seconds for a million rows and lets the WAL grow.
// The WAL is truncated afterwards if it has grown too much.
declare const self: Worker

// Nothing waits for it.
lowerThreadPriority(15)

const rowsPerChunk = 500

self.onmessage = async (event: MessageEvent<InspectionRequest>) => {
  self.postMessage(await inspect(event.data))
  process.exit(0)
}

async function inspect({ file, pauseRatio }: InspectionRequest): Promise<InspectionResult> {
  try {
    using database = new Database(file, { readonly: true, strict: true })
    for (const runCheck of listChecks(database)) {
      const startedAt = performance.now()
      const damage = runCheck()
      if (damage !== undefined) return { damage }
      await delay((performance.now() - startedAt) * pauseRatio)
    }
    return {}
  } catch (cause) {
    if (!(cause instanceof SQLiteError)) throw cause
    const { name, code = "", message } = cause
    return { failure: { name, code, message } }
  }
}

/** Checks in parts; each returns what is damaged. */
function* listChecks(database: Database): Generator<() => string | undefined> {
  const tables = database.query<{ name: string }, []>(
    "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
  )
  for (const { name } of tables.all()) yield () => checkTable(database, name)
  yield* listEventChecks(database)
  yield* listStateChecks(database)
  yield* listClaimChecks(database)
  yield* listBlobChecks(database)
}

/**
 * Checks pages, order, and each row against its indexes. The table may have been dropped meanwhile.
 */
function checkTable(database: Database, name: string): string | undefined {
  const isThere = database
    .query<unknown, [string]>("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?")
    .get(name)
  if (!isThere) return undefined
  const found = database
    .query<{ integrity_check: string }, []>(`PRAGMA integrity_check("${name}")`)
    .get()?.integrity_check
  return found === "ok" ? undefined : `the table ${name}`
}

function* listEventChecks(database: Database): Generator<() => string | undefined> {
  const next = database.prepare<EventRow, [number, number]>(
    "SELECT * FROM event WHERE position > ? ORDER BY position LIMIT ?",
  )
  let last: number | undefined = 0
  while (last !== undefined) {
    const after: number = last
    yield () => {
      const found = next.all(after, rowsPerChunk)
      last = found.at(-1)?.position
      const damaged = found.find((row) => !isEventWhole(row))
      return damaged && `event ${damaged.position}`
    }
  }
}

function* listStateChecks(database: Database): Generator<() => string | undefined> {
  const next = database.prepare<SummedState, [string, string, string, number]>(
    `SELECT * FROM state WHERE (instance, id, stream) > (?, ?, ?)
     ORDER BY instance, id, stream LIMIT ?`,
  )
  let last: Pick<SummedState, "instance" | "id" | "stream"> | undefined = {
    instance: "",
    id: "",
    stream: "",
  }
  while (last !== undefined) {
    const { instance, id, stream }: Pick<SummedState, "instance" | "id" | "stream"> = last
    yield () => {
      const found = next.all(instance, id, stream, rowsPerChunk)
      last = found.at(-1)
      const damaged = found.find((row) => !isStateWhole(row))
      return damaged && stateName(damaged)
    }
  }
}

function* listClaimChecks(database: Database): Generator<() => string | undefined> {
  const next = database.prepare<SummedClaim, [string, string, string, number]>(
    `SELECT * FROM claim WHERE (instance, kind, key) > (?, ?, ?)
     ORDER BY instance, kind, key LIMIT ?`,
  )
  let last: Pick<SummedClaim, "instance" | "kind" | "key"> | undefined = {
    instance: "",
    kind: "",
    key: "",
  }
  while (last !== undefined) {
    const { instance, kind, key }: Pick<SummedClaim, "instance" | "kind" | "key"> = last
    yield () => {
      const found = next.all(instance, kind, key, rowsPerChunk)
      last = found.at(-1)
      const damaged = found.find((row) => !isClaimWhole(row))
      return damaged && claimName(damaged)
    }
  }
}

/** One at a time: each is as large as hundreds of other rows. */
function* listBlobChecks(database: Database): Generator<() => string | undefined> {
  const next = database.prepare<SummedBlob & { rowid: number }, [number]>(
    "SELECT rowid, * FROM blob WHERE rowid > ? ORDER BY rowid LIMIT 1",
  )
  let last: number | undefined = 0
  while (last !== undefined) {
    const after: number = last
    yield () => {
      const found = next.get(after)
      last = found?.rowid
      return found && !isBlobWhole(found) ? blobName(found) : undefined
    }
  }
}
