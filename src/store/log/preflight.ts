import type { Database } from "bun:sqlite"
import { closeSync, openSync, readSync, statSync } from "node:fs"
import { Fault } from "../../kernel/fault.ts"
import { type DurableState, markFileOf, readMark } from "./mark.ts"
import { headOf } from "./row.ts"
import { countValidFrames, frameOffset, isLaterRun, readWalHead } from "./wal.ts"

/** What the files contain before SQLite opens them. */
export type Preflight = {
  /** There is no database yet, and none is missing. */
  readonly isAbsent: boolean
  /** What had been synced; undefined for a new data directory, or one of an older version. */
  readonly durable: DurableState | undefined
  /** The WAL is missing, and nothing indicates that the database file has all of it. */
  readonly lacksWal: boolean
  /** The WAL contains frames: the database file alone is not complete. */
  readonly hasFrames: boolean
}

/**
 * Compares the files with the durability mark, and rejects them if synced data is missing. SQLite
 * itself would create a missing database, and silently ignore everything after damage in the WAL,
 * which is only correct for the unsynced end that a power cut leaves. Changes nothing. SQLite must
 * not have the files open yet: closing them here would drop its locks.
 */
export function checkFiles(file: string): Preflight {
  const durable = readMark(file)
  if (sizeOf(file) === 0) {
    if (durable) throw databaseMissingError(file)
    const walSize = sizeOf(walOf(file))
    if (walSize > 0)
      throw missingError(file, `its WAL, ${walOf(file)}, has ${walSize} bytes of data`)
    return { isAbsent: true, durable, lacksWal: false, hasFrames: false }
  }
  if (!isDatabase(file)) throw foreignFileError(file)
  const lacksWal = durable !== undefined && !hasWal(file, durable)
  return { isAbsent: false, durable, lacksWal, hasFrames: sizeOf(walOf(file)) > 0 }
}

/** Compares what SQLite reads with the durability mark. */
export function requireSyncedHead(database: Database, file: string, preflight: Preflight): void {
  const { durable, lacksWal } = preflight
  if (!durable) return
  const head = headOf(database)
  if (lacksWal && !(head >= durable.position && isIntact(database)))
    throw walMissingError(file, durable)
  if (head < durable.position) throw databaseBehindError(file, head, durable)
}

/** The fault for a missing database. */
export const databaseMissingError = (file: string): Fault =>
  missingError(file, `${markFileOf(file)} shows that it existed`)

/** Whether the WAL is the known one with all that was synced, or a later one. */
function hasWal(file: string, durable: DurableState): boolean {
  const wal = walOf(file)
  const head = readWalHead(wal)
  if (head === "broken" && !durable.mayBeCut) throw walDamagedError(wal, file, { durable, at: 0 })
  if (head === "absent" || head === "broken") return durable.mayBeCut || durable.frames === 0
  if (head.salts !== durable.salts) return durable.mayBeCut || isLaterRun(head.salts, durable.salts)
  const wholeFrameCount = countValidFrames(wal, durable.frames)
  if (wholeFrameCount === durable.frames) return true
  throw walDamagedError(wal, file, {
    durable,
    at: frameOffset(wholeFrameCount + 1, head.pageSize),
    whole: wholeFrameCount,
  })
}

/** An interrupted checkpoint leaves pages of different versions. */
const isIntact = (database: Database): boolean =>
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

const startError = (id: string, message: string) =>
  new Fault("failed_precondition", `start.${id}`, message)

const restoreHint = "restore the data directory from a backup"

const missingError = (file: string, reason: string) =>
  startError(
    "database_missing",
    `the database ${file} is missing or empty, but ${reason}; nothing was changed. Put ` +
      `the file back, or ${restoreHint}; to start over, choose an empty data directory`,
  )

const foreignFileError = (file: string) =>
  startError(
    "database_damaged",
    `${file} is damaged or not a database; nothing was changed. Check the disk. Restore ` +
      "the data directory from a backup, or choose another one",
  )

type WalDamage = { readonly durable: DurableState; readonly at: number; readonly whole?: number }

const walDamagedError = (
  wal: string,
  file: string,
  { durable, at, whole: wholeFrameCount = 0 }: WalDamage,
) =>
  startError(
    "wal_damaged",
    `the WAL ${wal} is damaged or truncated from byte ${at} on: ${wholeFrameCount} of the ` +
      `${durable.frames} synced frames can be read, so some events up to position ` +
      `${durable.position} would be lost; nothing was changed. Check the disk, then ` +
      `${restoreHint}. ` +
      acceptLossHint(file),
  )

const walMissingError = (file: string, { position }: DurableState) =>
  startError(
    "wal_missing",
    `the WAL ${walOf(file)} is missing, and with it events up to position ${position}; ` +
      `nothing was changed. Put the file back, or ${restoreHint}. ` +
      acceptLossHint(file),
  )

const databaseBehindError = (file: string, head: number, { position }: DurableState) =>
  startError(
    "database_behind",
    `the database ${file} ends at position ${head}, but events up to position ${position} ` +
      `had been synced; nothing was changed. Put the newer files back, or ${restoreHint}. ` +
      `${acceptLossHint(file)}`,
  )

/** For operators who accept data loss, or who restored an older database on purpose. */
const acceptLossHint = (file: string) =>
  `To start with the existing data and lose the rest, move ${markFileOf(file)} away first`
