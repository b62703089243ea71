import type { Database } from "bun:sqlite"
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { errorText, Fault } from "../../kernel/fault.ts"
import type { AnyAggregate } from "../aggregate.ts"
import { classifyDiskFailure, isSpaceFailure, toDiskFault, toNewFileFault } from "../disk-error.ts"
import { openReadOnly, requireSupportedSchema } from "../log/database.ts"
import { markFileOf } from "../log/mark.ts"
import { headOf } from "../log/row.ts"
import { schemaVersion } from "../log/schema.ts"
import { hasOlderStates } from "../state/rebuild.ts"
import { ensureSnapshotOpens, removeUpgradeSnapshot, upgradeSnapshotOf } from "./snapshot-keys.ts"

// Before the tables of an older version are changed, or states are computed again, the database is
// copied. The copy has a different name in each phase, so that the next start can continue after an
// interruption:
//   -upgrading.part is being written: useless
//   -upgrading is complete; the tables may have either version, and no request was served yet
//   -before the upgrade is complete: kept for some days to undo it
//   -return is about to replace the database: later changes are discarded

/** A pending upgrade of a database, reported before it starts. */
export type PendingUpgrade = {
  /** Schema versions; equal if only states are computed again. */
  readonly from: number
  readonly to: number
  /** The size of the copy in bytes. */
  readonly bytes: number
  /** Why no copy is made, which is acceptable for states; absent if one is made. */
  readonly notCopied?: string
  /** The estimated duration. */
  readonly seconds: number
}

/** Measured: about a second for 100,000 events. */
export const estimateSeconds = (position: number): number => Math.ceil(position / 100_000)

/** How long the copy from before an upgrade is kept. */
export const keptDays = 7

const upgradingFileOf = (file: string) => `${file}-upgrading`
const returnFileOf = (file: string) => `${file}-return`

/** An upgrade that is undone automatically if it fails. */
export type UpgradeGuard = {
  /** Copies a database of an older version before anything is changed. */
  readonly take: (database: Database) => void
  /** After success: keeps the copy for some days, and replaces an older one. */
  readonly done: () => void
  /**
   * After a failure: restores the copy, once no process has the files open, and returns a fault;
   * undefined if nothing was changed.
   */
  readonly failed: (cause: unknown) => Fault | undefined
}

type GuardOptions = {
  readonly aggregates: readonly AnyAggregate[]
  readonly told?: ((upgrading: PendingUpgrade) => void) | undefined
}

/**
 * States are derived from events, which remain; therefore a lack of disk space must not prevent a
 * start.
 */
function catchLackOfSpace(file: string, action: () => void): Fault | undefined {
  try {
    action()
    return undefined
  } catch (cause) {
    const trouble = classifyDiskFailure(cause, file)
    if (cause instanceof Fault && trouble && isSpaceFailure(trouble)) return cause
    throw cause
  }
}

/**
 * Protects the opening of a database that may have an older version. First completes an interrupted
 * restore.
 */
export function createUpgradeGuard(
  file: string,
  { aggregates, told: onUpgrade }: GuardOptions,
): UpgradeGuard {
  if (existsSync(returnFileOf(file))) restoreCopy(file)
  return {
    take: (database) => {
      const { schema: from } = requireSupportedSchema(database)
      const bytes = sizeOf(database)
      const pendingUpgrade = {
        from,
        to: schemaVersion,
        bytes,
        seconds: estimateSeconds(headOf(database)),
      }
      if (from !== schemaVersion) {
        onUpgrade?.(pendingUpgrade)
        return copyDatabase(database, file, bytes)
      }
      // The copy of an interrupted start is older: from before the tables changed.
      if (existsSync(upgradingFileOf(file)) || !hasOlderStates(database, aggregates)) return
      const notCopied = catchLackOfSpace(file, () => copyDatabase(database, file, bytes))
      onUpgrade?.({ ...pendingUpgrade, ...(notCopied && { notCopied: notCopied.message }) })
    },
    done: () => {
      if (!existsSync(upgradingFileOf(file))) return
      // With its journal, which SQLite would otherwise apply to its replacement.
      removeUpgradeSnapshot(file)
      renameSync(upgradingFileOf(file), upgradeSnapshotOf(file))
      syncFolder(file)
    },
    failed: (cause) => {
      if (!existsSync(upgradingFileOf(file))) return undefined
      const [now, copied] = [readVersion(file), readVersion(upgradingFileOf(file))]
      // Nothing to undo, or there are new events, which must not be discarded.
      if (now.schema === copied.schema || now.position !== copied.position) {
        rmSync(upgradingFileOf(file))
        return undefined
      }
      // Classify the error before the disk state changes.
      const reason = toDiskFault(cause, file) ?? cause
      renameSync(upgradingFileOf(file), returnFileOf(file))
      restoreCopy(file)
      return upgradeFailedError(reason)
    },
  }
}

/**
 * Restores the copy from before the last upgrade, and discards everything since. Throws, without
 * changing anything, if the master key can't open it.
 */
export function undoUpgrade(
  file: string,
  master: Uint8Array,
): { readonly schema: number; readonly position: number } {
  const snapshot = upgradeSnapshotOf(file)
  if (!existsSync(snapshot)) throw noSnapshotError(file)
  ensureSnapshotOpens(file, master)
  const held = readVersion(snapshot)
  renameSync(snapshot, returnFileOf(file))
  restoreCopy(file)
  return held
}

/** Removes the copy from before an upgrade after some days; returns whether it did. */
export function dropExpiredSnapshot(file: string, now: number): boolean {
  const made = statSync(upgradeSnapshotOf(file), { throwIfNoEntry: false })?.mtimeMs
  if (made === undefined || now - made < keptDays * 86_400_000) return false
  removeUpgradeSnapshot(file)
  return true
}

function copyDatabase(database: Database, file: string, bytes: number): void {
  const part = `${upgradingFileOf(file)}.part`
  try {
    rmSync(part, { force: true })
    database.query("VACUUM INTO ?").run(part)
    sync(part)
    renameSync(part, upgradingFileOf(file))
    syncFolder(file)
  } catch (cause) {
    rmSync(part, { force: true })
    throw toNewFileFault(cause, part, bytes) ?? cause
  }
}

/**
 * SQLite would apply the WAL of one database to another, and the mark describes the discarded one:
 * both are removed before the copy replaces the database. An interrupted restore is completed by
 * the next start.
 */
function restoreCopy(file: string): void {
  for (const siblingFile of [`${file}-wal`, `${file}-shm`, markFileOf(file)])
    rmSync(siblingFile, { force: true })
  syncFolder(file)
  renameSync(returnFileOf(file), file)
  syncFolder(file)
}

function readVersion(file: string): { readonly schema: number; readonly position: number } {
  const hasFrames = (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
  using database = openReadOnly(file, { hasFrames })
  return { ...requireSupportedSchema(database), position: headOf(database) }
}

function sizeOf(database: Database): number {
  const pages = database.query<{ bytes: number }, []>(
    `SELECT (page_count - freelist_count) * page_size AS bytes
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  )
  return pages.get()?.bytes ?? 0
}

function sync(file: string): void {
  const descriptor = openSync(file, "r+")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** A new file name is only durable after its directory is synced. Windows has no equivalent. */
function syncFolder(file: string): void {
  if (process.platform === "win32") return
  const descriptor = openSync(dirname(file), "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function upgradeFailedError(cause: unknown): Fault {
  const reason = errorText(cause)
  return new Fault(
    "failed_precondition",
    "start.upgrade_failed",
    `the upgrade failed: ${reason}. The data was restored to its previous state; start ` +
      "the previous version, or fix the problem and start this one again",
    { cause },
  )
}

const noSnapshotError = (file: string) =>
  new Fault(
    "failed_precondition",
    "upgrade.nothing_before",
    `there is no ${upgradeSnapshotOf(file)} to restore: there was no upgrade in the last ` +
      `${keptDays} days. Restore a backup instead, into a new data directory`,
  )
