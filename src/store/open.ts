import { Database, SQLiteError } from "bun:sqlite"
import { existsSync } from "node:fs"
import { Fault } from "../kernel/fault.ts"
import type { AnyAggregate, Upcaster } from "./aggregate.ts"
import { checkpointGate, checkpointWorker } from "./checkpoint.ts"
import { commitIsDurable, sharedSync } from "./durability.ts"
import type { Apply, Log, LogEvent } from "./log.ts"
import { decode, type EventRow, namesOf } from "./row.ts"
import { schema, schemaVersion } from "./schema.ts"
import { sqliteLog } from "./sqlite-log.ts"
import { statesOf } from "./state.ts"
import { revisionOf, Store } from "./store.ts"
import type { View } from "./view.ts"
import { headOf, viewsOf } from "./views.ts"

export type OpenOptions = {
  /** The database file; its folder exists and this process owns it. */
  readonly file: string
  readonly aggregates: readonly AnyAggregate[]
  readonly views: readonly View[]
  /** A sync or a checkpoint failed: nobody knows what is on disk, so the process must end. */
  readonly fatal: (cause: Error) => void
  /** A view can't be rebuilt; the node isn't ready. */
  readonly notReady: (view: string, cause: unknown) => void
}

/**
 * Opens the store, or makes it. Faults with one plain line, and touches nothing, when the file is
 * damaged or was written by a newer Latchkey.
 */
export function openStore(options: OpenOptions): Store {
  const database = openDatabase(options.file)
  const names = namesOf(database)
  const states = statesOf(database, options.aggregates)
  const head = headOf(database)
  const upcast = upcaster(options.aggregates)

  const durability =
    process.platform === "linux"
      ? sharedSync(`${options.file}-wal`, head, options.fatal)
      : commitIsDurable(head)
  const worker = checkpointWorker(options.file, options.fatal)
  const gate = checkpointGate(worker.passive, worker.close)
  const apply: Apply = (event) => {
    states.apply(event)
    views.apply(event)
  }
  const raw = sqliteLog({ database, names, gate, durability, apply, head })
  const log: Log = {
    ...raw,
    read: async (position, limit) => (await raw.read(position, limit)).map(upcast),
  }
  const views = viewsOf({
    database,
    views: options.views,
    replay: log.read,
    pause: () => new Promise((resolve) => setImmediate(resolve)),
    failed: options.notReady,
  })
  const close = async () => {
    await views.close()
    await log.close()
    database.close()
  }
  return new Store({ log, database, states, views, close })
}

function openDatabase(file: string): Database {
  const fresh = !existsSync(file)
  try {
    const database = new Database(file, { readwrite: true, create: true, strict: true })
    if (fresh) {
      // Both must stand before the first table.
      database.run("PRAGMA page_size = 4096")
      database.run("PRAGMA auto_vacuum = INCREMENTAL")
    } else {
      checkVersion(database)
    }
    configure(database)
    if (versionOf(database) === 0) create(database)
    checkTail(database)
    return database
  } catch (cause) {
    throw cause instanceof SQLiteError ? refusal(cause) : cause
  }
}

const versionOf = (database: Database): number =>
  database.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0

function checkVersion(database: Database): void {
  const version = versionOf(database)
  if (version > schemaVersion) {
    throw new Fault(
      "failed_precondition",
      "start.database_newer",
      `the database was written by a newer Latchkey (schema ${version}, this one reads up to ` +
        `${schemaVersion}); start that version, or restore an older backup`,
    )
  }
}

function configure(database: Database): void {
  database.run("PRAGMA journal_mode = WAL")
  // On Linux a shared fdatasync follows each commit; elsewhere the commit itself must sync.
  database.run(`PRAGMA synchronous = ${process.platform === "linux" ? "NORMAL" : "FULL"}`)
  if (process.platform === "darwin") database.run("PRAGMA fullfsync = ON")
  database.run("PRAGMA wal_autocheckpoint = 0")
  database.run("PRAGMA secure_delete = FAST")
  database.run("PRAGMA temp_store = MEMORY")
  database.run("PRAGMA cache_size = -16384")
  // All that an earlier process wrote reaches the database file before anyone is answered.
  database.run("PRAGMA synchronous = FULL")
  database.run("PRAGMA wal_checkpoint(TRUNCATE)")
  database.run(`PRAGMA synchronous = ${process.platform === "linux" ? "NORMAL" : "FULL"}`)
}

/** Tables and version in one transaction: a first start that is killed leaves nothing half. */
function create(database: Database): void {
  database.transaction(() => {
    for (const sql of schema) database.run(sql)
    database.run(`PRAGMA user_version = ${schemaVersion}`)
  })()
}

/** The newest events are what a torn write would hurt; the rest is `verify`'s to read. */
function checkTail(database: Database): void {
  const names = namesOf(database)
  const rows = database
    .query<EventRow, []>("SELECT * FROM event ORDER BY position DESC LIMIT 64")
    .all()
  for (const row of rows) decode(row, names)
}

function refusal(cause: SQLiteError): Fault {
  const id = cause.code === "SQLITE_BUSY" ? "start.database_busy" : "start.database_damaged"
  const message =
    cause.code === "SQLITE_BUSY"
      ? "another process has the database open; stop it first"
      : "the database is damaged or is not one of Latchkey's; nothing was changed. " +
        "Restore the data folder from a backup"
  return new Fault("data_loss", id, message, { cause })
}

/**
 * Brings payloads to today's revision. An unknown type or a newer revision is refused by name:
 * whoever skipped it would show a world that never was.
 */
function upcaster(kinds: readonly AnyAggregate[]): (event: LogEvent) => LogEvent {
  const byStream = new Map(kinds.map((kind) => [kind.stream, kind]))
  return (event) => {
    const kind = byStream.get(event.stream)
    if (!kind || !(event.type in kind.evolve)) throw unreadable(event, "its type is not known")
    const current = revisionOf(kind, event.type)
    if (event.revision === current) return event
    if (event.revision > current) throw unreadable(event, `its revision ${event.revision} is newer`)
    const all = kind.upcasters as Record<string, readonly Upcaster[]>
    let payload = { data: event.data, private: event.private } as ReturnType<Upcaster>
    for (const step of all[event.type]?.slice(event.revision - 1) ?? []) {
      payload = step(payload.data, payload.private)
    }
    return { ...event, ...payload, revision: current }
  }
}

function unreadable(event: LogEvent, why: string): Fault {
  return new Fault(
    "unavailable",
    "store.event_unreadable",
    `event ${event.position} (${event.type}) can't be read by this version: ${why}; ` +
      "start the version that wrote it",
  )
}
