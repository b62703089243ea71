import { Database, SQLiteError } from "bun:sqlite"
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { startError, systemCode } from "../start-error.ts"
import type { Folder } from "./folder.ts"

/** Ownership of a data folder. */
export type Lock = { readonly release: () => void }

/** Locks of this process. A database that nobody refers to is closed, and its lock is gone. */
const held = new Set<Database>()

/**
 * Takes the data folder for this process, or refuses within half a second, naming the process that
 * has it. The lock is SQLite's own on an empty file: the system drops it with the process, however
 * that ends, and where such locks don't work the database itself would not be safe either.
 */
export function takeLock(folder: Folder): Lock {
  const lock = lockFile(folder.lock, (error) => ownedByOther(folder, error))
  noteHolder(folder, process.pid)
  let isHeld = true
  return {
    release: () => {
      if (isHeld) noteHolder(folder)
      isHeld = false
      lock.release()
    },
  }
}

/** Takes a lock of its own kind, or throws what `taken` makes of it. */
export function lockFile(file: string, taken: (cause: unknown) => unknown): Lock {
  const database = exclusive(file, taken)
  held.add(database)
  return {
    release: () => {
      if (held.delete(database)) database.close()
    },
  }
}

/** Says that the folder belongs to another process. */
export function ownedByOther(folder: Folder, cause?: unknown) {
  const pid = holderOf(folder)
  const who = pid ? `another Latchkey process (pid ${pid})` : "another Latchkey process"
  return startError(
    "folder_owned",
    `the data folder ${folder.path} is in use by ${who}; stop it, ` +
      "or choose another folder with --data DIR",
    cause,
  )
}

function exclusive(file: string, taken: (cause: unknown) => unknown): Database {
  let database: Database | undefined
  try {
    database = new Database(file, { readwrite: true, create: true })
    chmodSync(file, 0o600)
    // Two that start at the same moment may both see the other; then one of them tries again.
    database.run("PRAGMA busy_timeout = 400")
    // Nothing is ever written, so there is nothing that a journal could bring back.
    database.run("PRAGMA journal_mode = MEMORY")
    database.run("BEGIN EXCLUSIVE")
    return database
  } catch (error) {
    database?.close()
    const code = error instanceof SQLiteError ? error.code : systemCode(error)
    if (!(error instanceof Error) || !code) throw error
    if (code === "SQLITE_BUSY") throw taken(error)
    throw startError(
      "lock_unusable",
      `the file ${file} can't be locked (${error.message}); keep the data folder on a ` +
        "local disk, and if that file is not Latchkey's, which is empty, move it away",
      error,
    )
  }
}

/** For messages only: who can't be named, on a full disk perhaps, holds the lock all the same. */
function noteHolder(folder: Folder, pid?: number): void {
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
    // Between taking the lock and saying so there is no file: then the message does without it.
    return undefined
  }
}
