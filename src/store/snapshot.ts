import { Database } from "bun:sqlite"
import { rmSync } from "node:fs"
import { Fault } from "../kernel/fault.ts"
import { diskFaultOf, newFileFaultOf } from "./disk-error.ts"
import { checkOwn, openUntouched } from "./log/database.ts"
import { checkHead, type Preflight, preflight } from "./log/preflight.ts"
import { headOf } from "./log/row.ts"
import { schemaVersion } from "./log/schema.ts"

/** What a database holds, up to one moment. */
export type Snapshot = {
  /** Of the newest event. */
  readonly position: number
  /** When that was written, in ms UTC; null where there is none. */
  readonly newest: number | null
  /** Version of the tables. */
  readonly schema: number
}

/** Versions of tables beyond this one are a newer Latchkey's. */
export const newestSchema: number = schemaVersion

export type Source = {
  /** The database file. */
  readonly file: string
  /** Whether a server has it open: then its files change as one looks at them. */
  readonly isInUse: boolean
}

/**
 * Writes all that is committed at one moment into the new file `into`, without what was deleted.
 * Works beside a server from another process: that goes on writing, and only its WAL does not begin
 * anew until the copy is there. Faults where the disk or the database refuses it, and then leaves
 * no file.
 */
export function takeSnapshot(source: Source, into: string): Snapshot {
  const bytes = snapshotSize(source)
  try {
    using database = openSource(source)
    rmSync(into, { force: true })
    database.query("VACUUM INTO ?").run(into)
    return inSnapshot(into)
  } catch (cause) {
    rmSync(into, { force: true })
    throw newFileFaultOf(cause, into, bytes) ?? cause
  }
}

/** Reads what a file that nobody has open holds. Faults where it is no database of ours. */
export function inSnapshot(file: string): Snapshot {
  try {
    using database = openUntouched(file, { hasFrames: false })
    const { schema } = checkOwn(database)
    const position = headOf(database)
    const newest = database
      .query<{ time: number }, [number]>("SELECT time FROM event WHERE position = ?")
      .get(position)
    return { position, newest: newest?.time ?? null, schema }
  } catch (cause) {
    throw diskFaultOf(cause, file) ?? cause
  }
}

/** How many bytes a snapshot takes at most. */
export function snapshotSize(source: Source): number {
  using database = openSource(source)
  const pages = database.query<{ bytes: number }, []>(
    `SELECT (page_count - freelist_count) * page_size AS bytes
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  )
  return pages.get()?.bytes ?? 0
}

/** Opens it for reading alone; faults where it is damaged, another's, or not there. */
export function openSource({ file, isInUse }: Source): Database {
  if (isInUse) return new Database(file, { readonly: true, strict: true })
  const found = preflight(file)
  if (found.isAbsent) throw emptyError(file)
  return checkedSource(file, found)
}

/** What has lost something is not what anybody wants to keep. */
function checkedSource(file: string, found: Preflight): Database {
  const database = openUntouched(file, found)
  try {
    checkOwn(database)
    checkHead(database, file, found)
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
    `there is no database at ${file}; name the data folder with --data DIR`,
  )
