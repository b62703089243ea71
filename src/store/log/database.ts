import { constants, Database } from "bun:sqlite"
import { closeSync, fdatasyncSync, openSync } from "node:fs"
import { pathToFileURL } from "node:url"
import { Fault } from "../../kernel/fault.ts"
import type { AnyAggregate } from "../aggregate.ts"
import {
  closedTroubleOf,
  type DiskTrouble,
  diskFault,
  diskTroubleOf,
  lacksRoom,
  roomTroubleOf,
} from "../disk-error.ts"
import { checkEventTypes } from "./event-types.ts"
import { type Mark, openMark } from "./mark.ts"
import { checkHead, goneError, type Preflight, preflight } from "./preflight.ts"
import { decode, type EventRow, headOf, namesOf } from "./row.ts"
import { applicationId, migrations, schema, schemaVersion } from "./schema.ts"

/** The open database, and the mark beside it. */
export type Opened = {
  readonly database: Database
  readonly mark: Mark
  /** What the disk lacks for writing; reading goes on. */
  readonly trouble: Fault | undefined
}

/**
 * Opens the database, or makes it. Refuses with one plain line, and touches nothing, what is
 * damaged or lacks something, is not ours, or is of a newer version. `before` sees what is there
 * already, before anything is changed.
 */
export function openDatabase(
  file: string,
  aggregates: readonly AnyAggregate[],
  before?: (database: Database) => void,
): Opened {
  let database: Database | undefined
  let inspected: Database | undefined
  try {
    const found = preflight(file)
    inspected = inspect(file, found, aggregates)
    if (inspected) before?.(inspected)
    database = new Database(file, { readwrite: true, create: true, strict: true })
    configure(database, { isNew: !inspected })
    if (inspected) migrate(database)
    else create(database)
    return settle(database, found)
  } catch (cause) {
    inspected?.close()
    database?.close()
    throw refusal(cause, file) ?? cause
  } finally {
    inspected?.close()
  }
}

/**
 * Refuses, by a connection that can't write and does not clear away the WAL as it closes, what this
 * version can't read rightly. Nothing where there is no database yet, or that of a first start that
 * was killed.
 */
function inspect(
  file: string,
  found: Preflight,
  aggregates: readonly AnyAggregate[],
): Database | undefined {
  if (found.isAbsent) return undefined
  const database = openUntouched(file, found)
  try {
    if (isEmpty(database)) {
      if (found.durable) throw goneError(file)
      database.close()
      return undefined
    }
    checkOwn(database)
    checkHead(database, file, found)
    const names = namesOf(database)
    checkEventTypes(database, names, aggregates)
    // The newest events are what a torn write would hurt; the rest is `verify`'s to read.
    const newest = database.query<EventRow, []>(
      "SELECT * FROM event ORDER BY position DESC LIMIT 64",
    )
    for (const row of newest.all()) decode(row, names)
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
}

/**
 * Opens the file for reading alone. Where there is a WAL, its index is made beside it; where there
 * is none, SQLite would make both, and so it is told to look at the one file.
 */
export function openUntouched(file: string, { hasFrames }: Pick<Preflight, "hasFrames">): Database {
  if (hasFrames) return new Database(file, { readonly: true, strict: true })
  const alone = `${pathToFileURL(file).href}?immutable=1`
  return new Database(alone, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI)
}

const isEmpty = (database: Database): boolean =>
  numberOf(database, "user_version") === 0 &&
  database.query("SELECT 1 FROM sqlite_master LIMIT 1").get() === null

const numberOf = (database: Database, pragma: "user_version" | "application_id"): number =>
  database.query<Record<string, number>, []>(`PRAGMA ${pragma}`).get()?.[pragma] ?? 0

/** Refuses what is not one of ours, or of a newer version; answers the version of its tables. */
export function checkOwn(database: Database): { readonly schema: number } {
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
  return { schema: version }
}

/** SQLite keeps pages that it has read, and goes on without them. */
export const shrinkMemory = (database: Database): void => void database.run("PRAGMA shrink_memory")

function configure(database: Database, { isNew }: { readonly isNew: boolean }): void {
  // Both count only before the first table, and later still cost a write.
  if (isNew) {
    database.run("PRAGMA page_size = 4096")
    database.run("PRAGMA auto_vacuum = INCREMENTAL")
  }
  database.run("PRAGMA journal_mode = WAL")
  database.run("PRAGMA wal_autocheckpoint = 0")
  // The next start may find the disk full, and no room for an index of the WAL.
  database.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1)
  // What is erased is overwritten, also on pages that nothing needs any more.
  database.run("PRAGMA secure_delete = ON")
  database.run("PRAGMA temp_store = MEMORY")
  database.run("PRAGMA cache_size = -8192")
  if (process.platform === "darwin") database.run("PRAGMA fullfsync = ON")
  database.run("PRAGMA synchronous = FULL")
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
      for (const step of migrations.get(version)?.steps ?? []) {
        if (typeof step === "string") database.run(step)
        else step(database)
      }
    }
    database.run(`PRAGMA user_version = ${schemaVersion}`)
  })()
}

/**
 * All that an earlier process wrote reaches the database file before anyone is answered. Where
 * there is no room for it, or another program still reads what was there before, it stays in the
 * WAL, which must be on disk then.
 */
function settle(database: Database, { durable }: Preflight): Opened {
  const file = database.filename
  const known = durable && openMark(database, durable, durable.position)
  let trouble = roomTroubleOf(file)
  let isCopied = false
  try {
    isCopied = copyWal(database, !known || known.releaseNow() ? "TRUNCATE" : "PASSIVE")
  } catch (cause) {
    trouble = diskTroubleOf(cause, file)
    if (!trouble || !lacksRoom(trouble)) throw cause
  }
  if (!isCopied) syncFile(`${file}-wal`)
  // On Linux a shared fdatasync follows each commit; elsewhere the commit itself must sync.
  if (process.platform === "linux") database.run("PRAGMA synchronous = NORMAL")
  const mark = known ?? openMark(database, undefined, isCopied ? headOf(database) : 0)
  return { database, mark, trouble: trouble && diskFault(trouble) }
}

/** Whether the database file has all of the WAL now. */
function copyWal(database: Database, mode: "TRUNCATE" | "PASSIVE"): boolean {
  const row = database
    .query<{ busy: number; log: number; checkpointed: number }, []>(
      `PRAGMA wal_checkpoint(${mode})`,
    )
    .get()
  return row?.busy === 0 && row.log === row.checkpointed
}

/** SQLite locks the database and the index of the WAL, never the WAL: it may be closed here. */
function syncFile(file: string): void {
  const descriptor = openSync(file, "r")
  try {
    fdatasyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Says what is wrong with the disk, and what to do; undefined for bugs. */
function refusal(cause: unknown, file: string): Fault | undefined {
  const found = cause instanceof Fault ? undefined : closedTroubleOf(cause, file)
  if (!found) return undefined
  const said = `${found.message}. Nothing was changed; start again when that is done`
  return new Fault("failed_precondition", ids[found.kind], said, { cause })
}

const ids: Readonly<Record<DiskTrouble["kind"], string>> = {
  busy: "start.database_busy",
  full: "start.disk_full",
  quota: "start.disk_quota",
  limit: "start.disk_limit",
  readonly: "start.database_unwritable",
  broken: "start.disk_broken",
  damaged: "start.database_damaged",
}
