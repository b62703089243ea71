import { Database, SQLiteError } from "bun:sqlite"
import { Fault } from "../kernel/fault.ts"
import type { AnyAggregate } from "./aggregate.ts"
import { checkpointGate, checkpointWorker, type Gate } from "./checkpoint.ts"
import { diskFaultOf, diskTroubleOf, tryToWrite } from "./disk-error.ts"
import { commitIsDurable, sharedSync } from "./durability.ts"
import { horizonOf } from "./horizon.ts"
import { inspector } from "./inspection.ts"
import { checkKinds, kindsOf, upcaster } from "./kind.ts"
import type { Apply, Log, LogEvent } from "./log.ts"
import { isPassing, patiently } from "./patience.ts"
import { prunerOf } from "./prune.ts"
import type { Slice } from "./rebuild.ts"
import { type Refolded, refold } from "./refold.ts"
import { damagedError, decode, type EventRow, headOf, namesOf } from "./row.ts"
import { applicationId, migrations, schema, schemaVersion } from "./schema.ts"
import { sqliteLog } from "./sqlite-log.ts"
import { statesOf } from "./state.ts"
import { type Beside, Store } from "./store.ts"
import { sweeperOf } from "./sweep.ts"
import type { View } from "./view.ts"
import { viewsOf } from "./views.ts"

export type OpenOptions = {
  /** The database file; its folder exists and this process owns it. */
  readonly file: string
  readonly aggregates: readonly AnyAggregate[]
  readonly views: readonly View[]
  /** A sync or a checkpoint failed: nobody knows what is on disk, so the process must end. */
  readonly fatal: (cause: Error) => void
  /** A view can't be rebuilt, or not now; the node isn't ready. */
  readonly notReady: (view: string, cause: unknown) => void
  /** It can again. */
  readonly ready?: (view: string) => void
  /** The disk did not do what somebody asked of it; they have been told. */
  readonly trouble?: (fault: Fault) => void
  /** States had to be folded anew before this start; it took that much longer. */
  readonly refolded?: (what: Refolded) => void
}

/**
 * Opens the store, or makes it. Faults with one plain line, and touches nothing, when the file is
 * damaged, is not one of ours, or was written by a newer Latchkey.
 */
export function openStore(options: OpenOptions): Store {
  const database = openDatabase(options.file, options.aggregates)
  try {
    return storeOn(database, options)
  } catch (cause) {
    database.close()
    throw cause
  }
}

function storeOn(database: Database, options: OpenOptions): Store {
  const names = namesOf(database)
  const kinds = kindsOf(database)
  const upcast = upcaster(options.aggregates)
  const states = statesOf({ ...options, database, names, upcast })
  const head = headOf(database)
  const refolded = refold({ ...options, database, names, states, upcast })
  if (refolded.events > 0) options.refolded?.(refolded)
  const durability =
    process.platform === "linux"
      ? sharedSync(`${options.file}-wal`, head, options.fatal)
      : commitIsDurable(head)
  const faultOf = (cause: unknown): Fault | undefined => {
    const fault = cause instanceof Fault ? cause : diskFaultOf(cause, options.file)
    if (fault && diskTroubleOf(fault, options.file)) options.trouble?.(fault)
    return fault
  }
  const worker = checkpointWorker(options.file, { failed: options.fatal, refused: faultOf })
  const gate = checkpointGate(worker, () => raw.flush())
  const apply: Apply = (event, folded) => {
    states.apply(event, folded)
    views.apply(event)
  }
  const raw = sqliteLog({ database, names, kinds, gate, durability, apply, head, faultOf })
  let drops = 0
  const log = todaysLog(raw, upcast, () => drops)
  const written = database.prepare<EventRow, [number, number]>(
    "SELECT * FROM event WHERE position > ? ORDER BY position LIMIT ?",
  )
  const beside = besides(gate, options.file)
  const slice = slices(beside, gate, raw.flush)
  const views = viewsOf({
    database,
    views: options.views,
    kindOf: states.known,
    replay: (position, limit) =>
      written.all(position, limit).map((row) => upcast(decode(row, names))),
    slice,
    flush: raw.flush,
    failed: options.notReady,
    recovered: options.ready ?? (() => undefined),
  })
  const dropped = () => {
    drops++
  }
  const horizon = horizonOf(database)
  const parts = { ...options, database, names, states, views, slice, dropped, horizon }
  const [prune, sweep] = [prunerOf(parts), sweeperOf(parts)]
  const inspection = inspector(options.file)
  const close = async () => {
    inspection.stop()
    await views.close()
    await log.close()
    emptyWal(database)
    database.close()
  }
  const probe = () => slice(() => touch(database))
  const { cleanse } = gate
  const inspect = inspecting(inspection, faultOf)
  const work = { ...horizon, inspect, prune, sweep, cleanse, beside, probe, faultOf, close }
  return new Store({ log, database, states, views, ...work })
}

/** The log as this version reads it; what was dropped changes it, too. */
function todaysLog(raw: Log, upcast: (event: LogEvent) => LogEvent, drops: () => number): Log {
  return {
    ...raw,
    changes: () => raw.changes() + drops(),
    changesOf: (names) => raw.changesOf(names) + drops(),
    read: async (position, limit) => (await raw.read(position, limit)).map(upcast),
    history: async (window) => (await raw.history(window)).map(upcast),
    find: async (...what) => {
      const { events, upTo } = await raw.find(...what)
      return { events: events.map(upcast), upTo }
    },
  }
}

/** What an inspection finds, as a fault that readiness learns of. */
function inspecting({ inspect }: ReturnType<typeof inspector>, faultOf: Store["faultOf"]) {
  return async (rest: number): Promise<Fault | undefined> => {
    const { damage, refused } = await inspect(rest)
    if (damage !== undefined) return faultOf(damagedError(damage))
    return refused && faultOf(Object.assign(new Error(refused.message), refused))
  }
}

/** A connection whose statements are not collected yet closes later, and the WAL would stay. */
function emptyWal(database: Database): void {
  try {
    database.run("PRAGMA wal_checkpoint(TRUNCATE)")
  } catch (cause) {
    // It has everything; the next start copies it, perhaps to a roomier disk.
    if (!isPassing(cause, database.filename)) throw cause
  }
}

/** Writes a little, to see whether the disk takes it. */
function touch(database: Database): void {
  tryToWrite(database.filename)
  database.run(
    `INSERT INTO meta (key, value) VALUES ('probed', 1)
     ON CONFLICT DO UPDATE SET value = excluded.value`,
  )
}

/** What is written while a checkpoint cuts the WAL would be refused, so it waits. */
const besides =
  (gate: Gate, file: string): Beside =>
  async (work) => {
    for (let held = gate.open(); held; held = gate.open()) await held
    return patiently(file, work)
  }

/** Work beside the log: it lets others run first, and keeps out while a checkpoint finishes. */
const slices =
  (beside: Beside, gate: Gate, flush: () => void): Slice =>
  async (work, wrote = () => true) => {
    await new Promise((resolve) => setImmediate(resolve))
    return beside(() => {
      flush()
      const result = work()
      if (wrote(result)) gate.committed(sliceWeight)
      return result
    })
  }
/** What a slice counts towards the next checkpoint, in events. */
const sliceWeight = 100

function openDatabase(file: string, aggregates: readonly AnyAggregate[]): Database {
  let database: Database | undefined
  try {
    database = new Database(file, { readwrite: true, create: true, strict: true })
    const fresh = isFresh(database)
    if (!fresh) inspect(database, aggregates)
    configure(database)
    if (fresh) create(database)
    else migrate(database)
    return database
  } catch (cause) {
    database?.close()
    throw cause instanceof SQLiteError ? refusal(cause) : cause
  }
}

/** Nothing in it yet: new, or of a first start that was killed. */
const isFresh = (database: Database): boolean =>
  numberOf(database, "user_version") === 0 &&
  database.query("SELECT 1 FROM sqlite_master LIMIT 1").get() === null

const numberOf = (database: Database, pragma: "user_version" | "application_id"): number =>
  database.query<Record<string, number>, []>(`PRAGMA ${pragma}`).get()?.[pragma] ?? 0

/** Refuses, before anything is written, what this version can't read rightly. */
function inspect(database: Database, aggregates: readonly AnyAggregate[]): void {
  if (numberOf(database, "application_id") !== applicationId) {
    throw new Fault(
      "failed_precondition",
      "start.database_foreign",
      "the database is not one of Latchkey's; nothing was changed. Choose another data folder",
    )
  }
  const version = numberOf(database, "user_version")
  if (version > schemaVersion) {
    throw new Fault(
      "failed_precondition",
      "start.database_newer",
      `the database was written by a newer Latchkey (schema ${version}, this one reads up to ` +
        `${schemaVersion}); start that version, or restore an older backup`,
    )
  }
  const names = namesOf(database)
  checkKinds(database, names, aggregates)
  // The newest events are what a torn write would hurt; the rest is `verify`'s to read.
  const newest = database.query<EventRow, []>("SELECT * FROM event ORDER BY position DESC LIMIT 64")
  for (const row of newest.all()) decode(row, names)
}

function configure(database: Database): void {
  // Both count only before the first table.
  database.run("PRAGMA page_size = 4096")
  database.run("PRAGMA auto_vacuum = INCREMENTAL")
  database.run("PRAGMA journal_mode = WAL")
  database.run("PRAGMA wal_autocheckpoint = 0")
  // What is erased is overwritten, also on pages that nothing needs any more.
  database.run("PRAGMA secure_delete = ON")
  database.run("PRAGMA temp_store = MEMORY")
  database.run("PRAGMA cache_size = -16384")
  if (process.platform === "darwin") database.run("PRAGMA fullfsync = ON")
  // All that an earlier process wrote reaches the database file before anyone is answered.
  database.run("PRAGMA synchronous = FULL")
  database.run("PRAGMA wal_checkpoint(TRUNCATE)")
  // On Linux a shared fdatasync follows each commit; elsewhere the commit itself must sync.
  if (process.platform === "linux") database.run("PRAGMA synchronous = NORMAL")
}

/** Tables and version in one transaction: a first start that is killed leaves nothing half. */
function create(database: Database): void {
  database.transaction(() => {
    for (const sql of schema) database.run(sql)
    database.run(`PRAGMA application_id = ${applicationId}`)
    database.run(`PRAGMA user_version = ${schemaVersion}`)
  })()
}

/** All steps at once: a start that is killed leaves the version that was there. */
function migrate(database: Database): void {
  const from = numberOf(database, "user_version")
  if (from === schemaVersion) return
  database.transaction(() => {
    for (let version = from; version < schemaVersion; version++) {
      for (const sql of migrations.get(version) ?? []) database.run(sql)
    }
    database.run(`PRAGMA user_version = ${schemaVersion}`)
  })()
}

function refusal(cause: SQLiteError): Fault {
  const [id, message] = refusals[cause.code?.split("_", 2).join("_") ?? ""] ?? damaged
  return new Fault("failed_precondition", id, message, { cause })
}
const unwritable = [
  "start.database_unwritable",
  "the database can't be opened for writing; check who owns the data folder and its files",
] as const
const refusals: Readonly<Record<string, readonly [string, string]>> = {
  SQLITE_BUSY: ["start.database_busy", "another process has the database open; stop it first"],
  SQLITE_FULL: [
    "start.disk_full",
    "the disk is full, so the database can't be opened; free some space and start again",
  ],
  SQLITE_CANTOPEN: unwritable,
  SQLITE_READONLY: unwritable,
  SQLITE_PERM: unwritable,
}
const damaged = [
  "start.database_damaged",
  "the database is damaged or is not one of Latchkey's; nothing was changed. " +
    "Restore the data folder from a backup",
] as const
