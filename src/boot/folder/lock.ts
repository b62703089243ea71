import { Database, SQLiteError } from "bun:sqlite"
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { startError, systemCode } from "../start-error.ts"
import type { Folder } from "./folder.ts"

/** Ownership of a data folder. */
export type Lock = { readonly release: () => void }

/**
 * The locks of this process. Without a reference, the database would be garbage-collected and the
 * lock released.
 */
const heldLocks = new Set<Database>()

/**
 * Locks the data directory for this process. Throws after half a second, naming the process that
 * holds it. The lock is SQLite's own on an empty file: the system releases it when the process
 * ends, and where such locks don't work, the database would not be safe either.
 */
export function takeLock(folder: Folder): Lock {
  const lock = lockFile(folder.lock, (error) => folderInUseError(folder, error))
  recordHolder(folder, process.pid)
  let isHeld = true
  return {
    release: () => {
      if (isHeld) recordHolder(folder)
      isHeld = false
      lock.release()
    },
  }
}

/** Takes a lock on another file, or throws the error that `taken` returns. */
export function lockFile(file: string, lockedError: (cause: unknown) => unknown): Lock {
  const database = openExclusively(file, lockedError)
  heldLocks.add(database)
  return {
    release: () => {
      if (heldLocks.delete(database)) database.close()
    },
  }
}

/** The directory belongs to another process. */
export function folderInUseError(folder: Folder, cause?: unknown) {
  const pid = holderOf(folder)
  const holder = pid ? `another Latchkey process (pid ${pid})` : "another Latchkey process"
  return startError(
    "folder_owned",
    `the data directory ${folder.path} is in use by ${holder}; stop it, or choose another ` +
      "directory with --data DIR",
    cause,
  )
}

function openExclusively(file: string, lockedError: (cause: unknown) => unknown): Database {
  let database: Database | undefined
  try {
    database = new Database(file, { readwrite: true, create: true })
    chmodSync(file, 0o600)
    // Two processes that start at the same moment can block each other; a retry resolves that.
    database.run("PRAGMA busy_timeout = 400")
    // Nothing is ever written, so the journal is never needed.
    database.run("PRAGMA journal_mode = MEMORY")
    database.run("BEGIN EXCLUSIVE")
    return database
  } catch (error) {
    database?.close()
    const code = error instanceof SQLiteError ? error.code : systemCode(error)
    if (!(error instanceof Error) || !code) throw error
    if (code === "SQLITE_BUSY") throw lockedError(error)
    throw startError(
      "lock_unusable",
      `the file ${file} can't be locked (${error.message}); the data directory must be on ` +
        "a local disk, and the lock file must be empty: move any other file away",
      error,
    )
  }
}

/**
 * Only for messages: a process that can't be recorded, for example on a full disk, still holds the
 * lock.
 */
function recordHolder(folder: Folder, pid?: number): void {
  try {
    rmSync(folder.lockHolder, { force: true })
    if (pid) writeFileSync(folder.lockHolder, `${pid}\n`, { mode: 0o600 })
  } catch (error) {
    if (!systemCode(error)) throw error
  }
}

function holderOf(folder: Folder): number | undefined {
  try {
    return Number.parseInt(readFileSync(folder.lockHolder, "utf8"), 10) || undefined
  } catch {
    // The file is missing for a moment after the lock is taken; the message then omits the process.
    return undefined
  }
}
