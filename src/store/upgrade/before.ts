import type { Database } from "bun:sqlite"
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { Fault, reasonText } from "../../kernel/fault.ts"
import type { AnyAggregate } from "../aggregate.ts"
import { diskFaultOf, diskTroubleOf, lacksRoom, newFileFaultOf } from "../disk-error.ts"
import { checkOwn, openUntouched } from "../log/database.ts"
import { markFile } from "../log/mark.ts"
import { headOf } from "../log/row.ts"
import { schemaVersion } from "../log/schema.ts"
import { hasOlderStates } from "../state/rebuild.ts"
import { openBefore, removeBefore, snapshotBefore } from "./before-keys.ts"

// Before tables of an older version are changed, or states are computed anew, all that is there is
// copied. The copy has another name in each phase, so that a start that was killed is gone on with
// by the next one:
//
//   -upgrading.part  is being written: worth nothing
//   -upgrading       is whole; the tables may be of either version, and nobody is answered yet
//   -before          the upgrade came to its end: kept for who wants to go back, for some days
//   -return          is about to take the database's place: what is there is given up

/** What is about to be done to a database, told before it is. */
export type Upgrading = {
  /** Versions of the tables; the same where only states are computed anew. */
  readonly from: number
  readonly to: number
  /** Of what is copied first. */
  readonly bytes: number
  /** Why it is not copied, which states can do without; absent where it is. */
  readonly notCopied?: string
  /** About how long it takes. */
  readonly seconds: number
}

/** Measured: about a second for each 100,000 events that are folded anew. */
export const secondsFor = (position: number): number => Math.ceil(position / 100_000)

/** How long the tables of before are kept, for who wants to go back. */
export const keptDays = 7

const underWay = (file: string) => `${file}-upgrading`
const returning = (file: string) => `${file}-return`

/** An upgrade that goes back by itself. */
export type Guard = {
  /** Copies a database that is of an older version, before anything is changed. */
  readonly take: (database: Database) => void
  /** It came to its end: what was before is kept for some days, in place of an older one. */
  readonly done: () => void
  /**
   * It failed: puts back what was before, once nobody has the files open, and answers what to say;
   * undefined where nothing had been changed.
   */
  readonly failed: (cause: unknown) => Fault | undefined
}

type GuardOptions = {
  readonly aggregates: readonly AnyAggregate[]
  readonly told?: ((upgrading: Upgrading) => void) | undefined
}

/** States are made of events, which stay: for want of room nobody is kept from starting. */
function lackOfRoom(file: string, act: () => void): Fault | undefined {
  try {
    act()
    return undefined
  } catch (cause) {
    const trouble = diskTroubleOf(cause, file)
    if (cause instanceof Fault && trouble && lacksRoom(trouble)) return cause
    throw cause
  }
}

/**
 * Watches over the opening of a database that may be of an older version. First brings to its end
 * what a process that was killed had begun to put back.
 */
export function guardOf(file: string, { aggregates, told }: GuardOptions): Guard {
  if (existsSync(returning(file))) putBack(file)
  return {
    take: (database) => {
      const { schema: from } = checkOwn(database)
      const bytes = sizeOf(database)
      const about = { from, to: schemaVersion, bytes, seconds: secondsFor(headOf(database)) }
      if (from !== schemaVersion) {
        told?.(about)
        return copy(database, file, bytes)
      }
      // What a start that was killed has copied is older still: of before the tables changed.
      if (existsSync(underWay(file)) || !hasOlderStates(database, aggregates)) return
      const notCopied = lackOfRoom(file, () => copy(database, file, bytes))
      told?.({ ...about, ...(notCopied && { notCopied: notCopied.message }) })
    },
    done: () => {
      if (!existsSync(underWay(file))) return
      // With its journal, which SQLite would read into the one that comes in its place.
      removeBefore(file)
      renameSync(underWay(file), snapshotBefore(file))
      syncFolder(file)
    },
    failed: (cause) => {
      if (!existsSync(underWay(file))) return undefined
      const [now, then] = [whatIsIn(file), whatIsIn(underWay(file))]
      // Nothing to give up; or something has come since, which nobody may.
      if (now.schema === then.schema || now.position !== then.position) {
        rmSync(underWay(file))
        return undefined
      }
      // Asked while the disk is as it was when it refused.
      const because = diskFaultOf(cause, file) ?? cause
      renameSync(underWay(file), returning(file))
      putBack(file)
      return failedError(because)
    },
  }
}

/**
 * Puts back what was before the last upgrade; all that happened since is given up. Refuses, with
 * nothing changed, what the master key would not open.
 */
export function goBack(
  file: string,
  master: Uint8Array,
): { readonly schema: number; readonly position: number } {
  const snapshot = snapshotBefore(file)
  if (!existsSync(snapshot)) throw nothingError(file)
  openBefore(file, master)
  const held = whatIsIn(snapshot)
  renameSync(snapshot, returning(file))
  putBack(file)
  return held
}

/** Removes what was before an upgrade, when that is some days ago; answers whether it did. */
export function dropBefore(file: string, now: number): boolean {
  const made = statSync(snapshotBefore(file), { throwIfNoEntry: false })?.mtimeMs
  if (made === undefined || now - made < keptDays * 86_400_000) return false
  removeBefore(file)
  return true
}

function copy(database: Database, file: string, bytes: number): void {
  const part = `${underWay(file)}.part`
  try {
    rmSync(part, { force: true })
    database.query("VACUUM INTO ?").run(part)
    sync(part)
    renameSync(part, underWay(file))
    syncFolder(file)
  } catch (cause) {
    rmSync(part, { force: true })
    throw newFileFaultOf(cause, part, bytes) ?? cause
  }
}

/**
 * SQLite would read the WAL of one database into another, and the mark tells of what is given up:
 * both go before the copy takes the database's place. Begun, it is ended by whoever starts next.
 */
function putBack(file: string): void {
  for (const beside of [`${file}-wal`, `${file}-shm`, markFile(file)])
    rmSync(beside, { force: true })
  syncFolder(file)
  renameSync(returning(file), file)
  syncFolder(file)
}

function whatIsIn(file: string): { readonly schema: number; readonly position: number } {
  const hasFrames = (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
  using database = openUntouched(file, { hasFrames })
  return { ...checkOwn(database), position: headOf(database) }
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

/** A name is on disk when its folder is. Windows has no such thing to ask for. */
function syncFolder(file: string): void {
  if (process.platform === "win32") return
  const descriptor = openSync(dirname(file), "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function failedError(cause: unknown): Fault {
  const because = reasonText(cause)
  return new Fault(
    "failed_precondition",
    "start.upgrade_failed",
    `the data could not be brought to this version: ${because}. ` +
      "It is again as it was before; start the version before, or mend that and start this one",
    { cause },
  )
}

const nothingError = (file: string) =>
  new Fault(
    "failed_precondition",
    "upgrade.nothing_before",
    `there is no ${snapshotBefore(file)} to go back to: nothing was upgraded in the last ` +
      `${keptDays} days. Restore a backup instead, into a new folder`,
  )
