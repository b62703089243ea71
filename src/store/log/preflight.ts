import type { Database } from "bun:sqlite"
import { closeSync, openSync, readSync, statSync } from "node:fs"
import { Fault } from "../../kernel/fault.ts"
import { type Durable, markFile, readMark } from "./mark.ts"
import { headOf } from "./row.ts"
import { frameOffset, headOfWal, isLater, wholeFrames } from "./wal.ts"

/** What the files say before SQLite opens them. */
export type Preflight = {
  /** There is no database yet, and none is missed. */
  readonly isAbsent: boolean
  /** What had reached the disk; undefined for a new folder, and for one of an older version. */
  readonly durable: Durable | undefined
  /** The WAL is gone, and nothing says that the database file has all of it. */
  readonly lacksWal: boolean
  /** The WAL holds something: what the database file says is not all. */
  readonly hasFrames: boolean
}

/**
 * Holds the files against what had been on disk, by the mark, and refuses what has lost some of it.
 * SQLite itself would begin anew where the database is gone, and pass silently over all that comes
 * after a damaged place in the WAL, which is right only for what no sync had vouched for: the tail
 * that a power cut leaves. Changes nothing. SQLite must not have the files open yet: to close them
 * here would drop its locks.
 */
export function preflight(file: string): Preflight {
  const durable = readMark(file)
  if (sizeOf(file) === 0) {
    if (durable) throw goneError(file)
    const walSize = sizeOf(walOf(file))
    if (walSize > 0) throw missing(file, `its WAL, ${walOf(file)}, has ${walSize} bytes of data`)
    return { isAbsent: true, durable, lacksWal: false, hasFrames: false }
  }
  if (!isDatabase(file)) throw foreign(file)
  const lacksWal = durable !== undefined && !hasWal(file, durable)
  return { isAbsent: false, durable, lacksWal, hasFrames: sizeOf(walOf(file)) > 0 }
}

/** Holds what SQLite reads against the same. */
export function checkHead(database: Database, file: string, found: Preflight): void {
  const { durable, lacksWal } = found
  if (!durable) return
  const head = headOf(database)
  if (lacksWal && !(head >= durable.position && isSound(database))) throw withoutWal(file, durable)
  if (head < durable.position) throw behind(file, head, durable)
}

/** There is no database where one must be. */
export const goneError = (file: string): Fault =>
  missing(file, `${markFile(file)} says that there was one`)

/** Whether the WAL is the one that is known, with all that had been on disk, or a later one. */
function hasWal(file: string, durable: Durable): boolean {
  const wal = walOf(file)
  const head = headOfWal(wal)
  if (head === "broken" && !durable.mayBeCut) throw damaged(wal, file, { durable, at: 0 })
  if (head === "absent" || head === "broken") return durable.mayBeCut || durable.frames === 0
  if (head.salts !== durable.salts) return durable.mayBeCut || isLater(head.salts, durable.salts)
  const whole = wholeFrames(wal, durable.frames)
  if (whole === durable.frames) return true
  throw damaged(wal, file, { durable, at: frameOffset(whole + 1, head.pageSize), whole })
}

/** A checkpoint that was broken off leaves pages of different times. */
const isSound = (database: Database): boolean =>
  database.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)").get()
    ?.integrity_check === "ok"

const walOf = (file: string) => `${file}-wal`

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

function isDatabase(file: string): boolean {
  const begin = Buffer.alloc(signature.length)
  const descriptor = openSync(file, "r")
  try {
    readSync(descriptor, begin, 0, begin.length, 0)
  } finally {
    closeSync(descriptor)
  }
  return begin.toString("latin1") === signature
}
const signature = "SQLite format 3\0"

const refusalError = (id: string, message: string) =>
  new Fault("failed_precondition", `start.${id}`, message)

const restore = "restore the data folder from a backup"

const missing = (file: string, because: string) =>
  refusalError(
    "database_missing",
    `the database ${file} is gone or empty, but ${because}; nothing was changed. Put the file ` +
      `back, or ${restore}; to begin anew, choose an empty data folder`,
  )

const foreign = (file: string) =>
  refusalError(
    "database_damaged",
    `${file} is damaged or is no database; nothing was changed. Check the disk. Restore the data ` +
      "folder from a backup, or choose another one",
  )

type Break = { readonly durable: Durable; readonly at: number; readonly whole?: number }

const damaged = (wal: string, file: string, { durable, at, whole = 0 }: Break) =>
  refusalError(
    "wal_damaged",
    `the WAL ${wal} is damaged or cut from byte ${at} on: ${whole} of the ${durable.frames} ` +
      `frames that had been on disk can be read, so some of the events up to position ` +
      `${durable.position} would be lost; nothing was changed. Check the disk, then ${restore}. ` +
      resign(file),
  )

const withoutWal = (file: string, { position }: Durable) =>
  refusalError(
    "wal_missing",
    `the WAL ${walOf(file)} is gone, and the database lacks what was in it, of events up to ` +
      `position ${position}; nothing was changed. Put that file back, or ${restore}. ` +
      resign(file),
  )

const behind = (file: string, head: number, { position }: Durable) =>
  refusalError(
    "database_behind",
    `the database ${file} ends at position ${head}, but events up to position ${position} had ` +
      `been on disk; nothing was changed. Put the newer files back, or ${restore}. ${resign(file)}`,
  )

/** For who would rather lose something than wait, and for who has put an older database there. */
const resign = (file: string) =>
  `To start with what there is and lose the rest, move ${markFile(file)} away first`
