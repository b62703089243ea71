import { Database } from "bun:sqlite"
import { rmSync } from "node:fs"
import { Fault } from "../kernel/fault.ts"
import { toDiskFault, toNewFileFault } from "./disk-error.ts"
import { openReadOnly, requireSupportedSchema } from "./log/database.ts"
import { checkFiles, type Preflight, requireSyncedHead } from "./log/preflight.ts"
import { headOf } from "./log/row.ts"
import { schemaVersion } from "./log/schema.ts"

/** What a database contains up to one moment. */
export type Snapshot = {
  /** The position of the newest event. */
  readonly position: number
  /** When it was written, in ms UTC; null without events. */
  readonly newest: number | null
  /** The schema version. */
  readonly schema: number
}

/** Databases with a higher schema version are from a newer version of Latchkey. */
export const supportedSchema: number = schemaVersion

export type Source = {
  /** The database file. */
  readonly file: string
  /** Whether a server has it open: its files then change while they are read. */
  readonly isInUse: boolean
}

/**
 * Copies everything committed at one moment to the new file `into`, without deleted data. Works
 * next to a running server, which keeps writing; only its WAL does not restart until the copy is
 * complete. Throws if the disk or the database fails, and removes the file.
 */
export function takeSnapshot(source: Source, into: string): Snapshot {
  const bytes = maxSnapshotSize(source)
  try {
    using database = openSource(source)
    rmSync(into, { force: true })
    database.query("VACUUM INTO ?").run(into)
    return readSnapshot(into)
  } catch (cause) {
    rmSync(into, { force: true })
    throw toNewFileFault(cause, into, bytes) ?? cause
  }
}

/** Reads a file that no process has open. Throws if it is not a Latchkey database. */
export function readSnapshot(file: string): Snapshot {
  try {
    using database = openReadOnly(file, { hasFrames: false })
    const { schema } = requireSupportedSchema(database)
    const position = headOf(database)
    const newest = database
      .query<{ time: number }, [number]>("SELECT time FROM event WHERE position = ?")
      .get(position)
    return { position, newest: newest?.time ?? null, schema }
  } catch (cause) {
    throw toDiskFault(cause, file) ?? cause
  }
}

/** The maximum size of a snapshot in bytes. */
export function maxSnapshotSize(source: Source): number {
  using database = openSource(source)
  const pages = database.query<{ bytes: number }, []>(
    `SELECT (page_count - freelist_count) * page_size AS bytes
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  )
  return pages.get()?.bytes ?? 0
}

/** Opens it read-only; throws if it is damaged, foreign or missing. */
export function openSource({ file, isInUse }: Source): Database {
  if (isInUse) return new Database(file, { readonly: true, strict: true })
  const found = checkFiles(file)
  if (found.isAbsent) throw emptyError(file)
  return openCheckedSource(file, found)
}

/** An incomplete database must not be backed up. */
function openCheckedSource(file: string, preflight: Preflight): Database {
  const database = openReadOnly(file, preflight)
  try {
    requireSupportedSchema(database)
    requireSyncedHead(database, file, preflight)
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
}

const emptyError = (file: string) =>
  new Fault(
    "failed_precondition",
    "backup.nothing",
    `there is no database at ${file}; name the data directory with --data DIR`,
  )
