import { constants, Database } from "bun:sqlite"
import { closeSync, fdatasyncSync, openSync } from "node:fs"
import { pathToFileURL } from "node:url"
import { Fault } from "../../kernel/fault.ts"
import type { AnyAggregate } from "../aggregate.ts"
import {
  classifyClosedFileFailure,
  classifyDiskFailure,
  createDiskFault,
  type DiskFailure,
  findSpaceFailure,
  isSpaceFailure,
} from "../disk-error.ts"
import { requireSupportedEventTypes } from "./event-types.ts"
import { type DurabilityMark, openMark } from "./mark.ts"
import { checkFiles, databaseMissingError, type Preflight, requireSyncedHead } from "./preflight.ts"
import { createNames, decodeEvent, type EventRow, headOf } from "./row.ts"
import { applicationId, migrations, schema, schemaVersion } from "./schema.ts"

/** The open database with its durability mark. */
export type OpenedDatabase = {
  readonly database: Database
  readonly mark: DurabilityMark
  /** Why the disk can't be written; reading works. */
  readonly diskFault: Fault | undefined
}

/**
 * Opens or creates the database. Rejects a database that is damaged, incomplete, foreign or from a
 * newer version, with a single-line message and without changing it. `before` runs before the first
 * change.
 */
export function openDatabase(
  file: string,
  aggregates: readonly AnyAggregate[],
  before?: (database: Database) => void,
): OpenedDatabase {
  let database: Database | undefined
  let inspected: Database | undefined
  try {
    const found = checkFiles(file)
    inspected = validateExisting(file, found, aggregates)
    if (inspected) before?.(inspected)
    database = new Database(file, { readwrite: true, create: true, strict: true })
    configure(database, { isNew: !inspected })
    if (inspected) migrate(database)
    else create(database)
    return recoverWal(database, found)
  } catch (cause) {
    inspected?.close()
    database?.close()
    throw toStartFault(cause, file) ?? cause
  } finally {
    inspected?.close()
  }
}

/**
 * Rejects a database that this version can't read correctly, on a read-only connection that keeps
 * the WAL. Returns undefined if there is no database yet, or only that of an interrupted first
 * start.
 */
function validateExisting(
  file: string,
  preflight: Preflight,
  aggregates: readonly AnyAggregate[],
): Database | undefined {
  if (preflight.isAbsent) return undefined
  const database = openReadOnly(file, preflight)
  try {
    if (isEmpty(database)) {
      if (preflight.durable) throw databaseMissingError(file)
      database.close()
      return undefined
    }
    requireSupportedSchema(database)
    requireSyncedHead(database, file, preflight)
    const names = createNames(database)
    requireSupportedEventTypes(database, names, aggregates)
    // A torn write would damage the newest events; `verify` reads the rest.
    const newest = database.query<EventRow, []>(
      "SELECT * FROM event ORDER BY position DESC LIMIT 64",
    )
    for (const row of newest.all()) decodeEvent(row, names)
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
}

/**
 * Opens the file read-only. With a WAL, SQLite creates its index next to it; without one, SQLite
 * would create both, so only the single file is opened.
 */
export function openReadOnly(file: string, { hasFrames }: Pick<Preflight, "hasFrames">): Database {
  if (hasFrames) return new Database(file, { readonly: true, strict: true })
  const immutable = `${pathToFileURL(file).href}?immutable=1`
  return new Database(immutable, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI)
}

const isEmpty = (database: Database): boolean =>
  readPragma(database, "user_version") === 0 &&
  database.query("SELECT 1 FROM sqlite_master LIMIT 1").get() === null

const readPragma = (database: Database, pragma: "user_version" | "application_id"): number =>
  database.query<Record<string, number>, []>(`PRAGMA ${pragma}`).get()?.[pragma] ?? 0

/** Rejects a foreign database or one from a newer version; returns its schema version. */
export function requireSupportedSchema(database: Database): { readonly schema: number } {
  if (readPragma(database, "application_id") !== applicationId) {
    throw new Fault(
      "failed_precondition",
      "start.database_foreign",
      "the database was not created by Latchkey; nothing was changed. Choose another data " +
        "directory",
    )
  }
  const version = readPragma(database, "user_version")
  if (version > schemaVersion) {
    throw new Fault(
      "failed_precondition",
      "start.database_newer",
      `the database was written by a newer version of Latchkey (schema ${version}, this ` +
        `version supports up to ${schemaVersion}); start that version, or restore an older ` +
        "backup",
    )
  }
  return { schema: version }
}

/** Frees the pages that SQLite caches, which it does not need to continue. */
export const shrinkMemory = (database: Database): void => void database.run("PRAGMA shrink_memory")

function configure(database: Database, { isNew }: { readonly isNew: boolean }): void {
  // These only take effect before the first table, and would cost a write later.
  if (isNew) {
    database.run("PRAGMA page_size = 4096")
    database.run("PRAGMA auto_vacuum = INCREMENTAL")
  }
  database.run("PRAGMA journal_mode = WAL")
  database.run("PRAGMA wal_autocheckpoint = 0")
  // The next start may find the disk full, without space for a WAL index.
  database.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1)
  // Erased data is overwritten, even on unused pages.
  database.run("PRAGMA secure_delete = ON")
  database.run("PRAGMA temp_store = MEMORY")
  database.run("PRAGMA cache_size = -8192")
  if (process.platform === "darwin") database.run("PRAGMA fullfsync = ON")
  database.run("PRAGMA synchronous = FULL")
}

/**
 * Creates tables and version in one transaction, so that an interrupted first start leaves nothing
 * behind.
 */
function create(database: Database): void {
  database.transaction(() => {
    for (const migrationStep of schema) database.run(migrationStep)
    database.run(`PRAGMA application_id = ${applicationId}`)
    database.run(`PRAGMA user_version = ${schemaVersion}`)
  })()
}

/** Runs all migrations in one transaction: an interrupted start keeps the old version. */
function migrate(database: Database): void {
  const from = readPragma(database, "user_version")
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
 * Copies everything that earlier processes wrote into the database file before the first response.
 * Without disk space for it, or while another program reads an old snapshot, it stays in the WAL,
 * which must then be synced.
 */
function recoverWal(database: Database, { durable }: Preflight): OpenedDatabase {
  const file = database.filename
  const existingMark = durable && openMark(database, durable, durable.position)
  let trouble = findSpaceFailure(file)
  let isCopied = false
  try {
    isCopied = copyWal(
      database,
      !existingMark || existingMark.releaseNow() ? "TRUNCATE" : "PASSIVE",
    )
  } catch (cause) {
    trouble = classifyDiskFailure(cause, file)
    if (!trouble || !isSpaceFailure(trouble)) throw cause
  }
  if (!isCopied) syncFile(`${file}-wal`)
  // On Linux, a shared fdatasync follows each commit; elsewhere, the commit itself must sync.
  if (process.platform === "linux") database.run("PRAGMA synchronous = NORMAL")
  const mark = existingMark ?? openMark(database, undefined, isCopied ? headOf(database) : 0)
  return { database, mark, diskFault: trouble && createDiskFault(trouble) }
}

/** Whether the database file now contains the whole WAL. */
function copyWal(database: Database, mode: "TRUNCATE" | "PASSIVE"): boolean {
  const row = database
    .query<{ busy: number; log: number; checkpointed: number }, []>(
      `PRAGMA wal_checkpoint(${mode})`,
    )
    .get()
  return row?.busy === 0 && row.log === row.checkpointed
}

/** SQLite locks the database and the WAL index, never the WAL itself: closing it here is safe. */
function syncFile(file: string): void {
  const descriptor = openSync(file, "r")
  try {
    fdatasyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Describes the disk problem and its solution; undefined for bugs. */
function toStartFault(cause: unknown, file: string): Fault | undefined {
  const found = cause instanceof Fault ? undefined : classifyClosedFileFailure(cause, file)
  if (!found) return undefined
  const fault = `${found.message}. Nothing was changed; start again afterwards`
  return new Fault("failed_precondition", startFaultIds[found.kind], fault, { cause })
}

const startFaultIds: Readonly<Record<DiskFailure["kind"], string>> = {
  busy: "start.database_busy",
  full: "start.disk_full",
  quota: "start.disk_quota",
  limit: "start.disk_limit",
  readonly: "start.database_unwritable",
  broken: "start.disk_broken",
  damaged: "start.database_damaged",
}
