import { Database, SQLiteError } from "bun:sqlite"
import { pause } from "../kernel/clock.ts"
import { stepBack } from "../runtime/thread.ts"
import type { Inspected, InspectionRequest } from "./inspection.ts"
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

// Looks through the database while others work, on a connection that can't write, with pauses, so
// that it takes a small part of one core. Rows are read chunk by chunk; SQLite looks through the
// pages of a table only at one go, and holds its version meanwhile: seconds for a million rows, in
// which the WAL grows. It is cut after that, if it has grown beyond measure.
declare const self: Worker

// Nobody waits for it.
stepBack(15)

const rows = 500

self.onmessage = async (event: MessageEvent<InspectionRequest>) => {
  self.postMessage(await inspect(event.data))
  process.exit(0)
}

async function inspect({ file, rest }: InspectionRequest): Promise<Inspected> {
  try {
    using database = new Database(file, { readonly: true, strict: true })
    for (const damageIn of chunks(database)) {
      const began = performance.now()
      const damage = damageIn()
      if (damage !== undefined) return { damage }
      await pause((performance.now() - began) * rest)
    }
    return {}
  } catch (cause) {
    if (!(cause instanceof SQLiteError)) throw cause
    const { name, code = "", message } = cause
    return { refused: { name, code, message } }
  }
}

/** Each looks at a part, and names what is damaged there. */
function* chunks(database: Database): Generator<() => string | undefined> {
  const tables = database.query<{ name: string }, []>(
    "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
  )
  for (const { name } of tables.all()) yield () => damageOfTable(database, name)
  yield* eventSlices(database)
  yield* stateSlices(database)
  yield* claimSlices(database)
  yield* blobSlices(database)
}

/** Pages, order, and each row against its indexes. A table may be gone meanwhile. */
function damageOfTable(database: Database, name: string): string | undefined {
  const isThere = database
    .query<unknown, [string]>("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?")
    .get(name)
  if (!isThere) return undefined
  const found = database
    .query<{ integrity_check: string }, []>(`PRAGMA integrity_check("${name}")`)
    .get()?.integrity_check
  return found === "ok" ? undefined : `the table ${name}`
}

function* eventSlices(database: Database): Generator<() => string | undefined> {
  const next = database.prepare<EventRow, [number, number]>(
    "SELECT * FROM event WHERE position > ? ORDER BY position LIMIT ?",
  )
  let last: number | undefined = 0
  while (last !== undefined) {
    const after: number = last
    yield () => {
      const found = next.all(after, rows)
      last = found.at(-1)?.position
      const damaged = found.find((row) => !isEventWhole(row))
      return damaged && `event ${damaged.position}`
    }
  }
}

function* stateSlices(database: Database): Generator<() => string | undefined> {
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
      const found = next.all(instance, id, stream, rows)
      last = found.at(-1)
      const damaged = found.find((row) => !isStateWhole(row))
      return damaged && stateName(damaged)
    }
  }
}

function* claimSlices(database: Database): Generator<() => string | undefined> {
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
      const found = next.all(instance, kind, key, rows)
      last = found.at(-1)
      const damaged = found.find((row) => !isClaimWhole(row))
      return damaged && claimName(damaged)
    }
  }
}

/** One by one: each is as large as hundreds of other rows. */
function* blobSlices(database: Database): Generator<() => string | undefined> {
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
