import type { Database } from "bun:sqlite"
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fsyncSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs"
import { dirname } from "node:path"
import { Fault } from "../../kernel/fault.ts"
import { readSalts } from "./wal.ts"

/** The synced part of the WAL: a number of frames of one run. */
export type WalPosition = { readonly salts: string; readonly frames: number }

/** What is known to be synced. */
export type DurableState = WalPosition & {
  /** The position of the newest event. */
  readonly position: number
  /** Whether the WAL may have been truncated since, because the database file has all of it. */
  readonly mayBeCut: boolean
}

/** A file next to the database that records that it exists, and how far it is synced. */
export type DurabilityMark = {
  /** The current end of the open WAL, directly after a commit. */
  readonly place: (wal: number) => WalPosition
  /** Records what has been synced. */
  readonly advance: (location: WalPosition, position: number) => void
  /** Records, synced, that the WAL may be truncated from now on; false if that can't be written. */
  readonly release: () => Promise<boolean>
  /** The same synchronously, for a start, when nothing else waits. */
  readonly releaseNow: () => boolean
  readonly close: () => void
}

export const markFileOf = (file: string): string => `${file}-mark`

/** Reads the mark of a database; undefined if there is none. */
export function readMark(file: string): DurableState | undefined {
  const text = readIfExists(markFileOf(file))
  // Left by a power cut while the mark was created: the file has its length, but no content.
  if (/^\0*$/.test(text)) return undefined
  const [, content = "", salts = "", frames, position, cut, sum] = markPattern.exec(text) ?? []
  if (!sum || sumOf(content) !== sum) throw markDamagedError(markFileOf(file))
  return { salts, frames: Number(frames), position: Number(position), mayBeCut: cut === "cut" }
}

/**
 * Opens the mark with content `state`, or creates one for a database that is synced up to `head`.
 * The mark is written after each sync of the WAL, before responses are sent, and not synced itself,
 * which would double the cost. After a kill it matches exactly what was acknowledged; after a power
 * cut it may state less, but never more than was synced. It is only synced before the WAL is
 * truncated, which invalidates its statement about the WAL.
 */
export function openMark(
  database: Database,
  state: DurableState | undefined,
  head: number,
): DurabilityMark {
  const file = markFileOf(database.filename)
  let durable = state ?? { salts: "0".repeat(16), frames: 0, position: head, mayBeCut: true }
  const descriptor = state
    ? ignoreErrors(() => openSync(file, "r+"))
    : createMarkFile(file, durable)
  const frames = frameCounter(database)
  const write = (next: DurableState): boolean => {
    durable = next
    if (descriptor === undefined) return false
    return ignoreErrors(() => writeSync(descriptor, formatMark(next), 0)) !== undefined
  }
  const writeReleased = () => write({ ...durable, mayBeCut: true })
  // Without a mark, a missing WAL can't be detected anyway.
  const isUnmarked = state === undefined
  return {
    place: (wal) => ({ salts: readSalts(wal), frames: frames() ?? 0 }),
    advance: (location, position) => void write({ ...location, position, mayBeCut: false }),
    release: async () => {
      if (descriptor === undefined) return isUnmarked
      if (!writeReleased()) return false
      const { promise, resolve } = Promise.withResolvers<boolean>()
      fdatasync(descriptor, (cause) => resolve(cause === null))
      return promise
    },
    releaseNow: () => {
      if (descriptor === undefined) return isUnmarked
      return writeReleased() && ignoreErrors(() => fdatasyncSync(descriptor) ?? true) === true
    },
    close: () => {
      if (descriptor !== undefined) closeSync(descriptor)
    },
  }
}

/** Ignores write failures, for example on a full disk: an outdated mark only promises less. */
function ignoreErrors<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}

/** Creates and syncs the file and its directory entry: only then does the mark exist. */
function createMarkFile(file: string, durable: DurableState): number | undefined {
  return ignoreErrors(() => {
    const descriptor = openSync(file, "w+", 0o600)
    writeSync(descriptor, formatMark(durable), 0)
    fsyncSync(descriptor)
    const folder = openSync(dirname(file), "r")
    fsyncSync(folder)
    closeSync(folder)
    return descriptor
  })
}

/** The frame count of the current WAL run, by a no-op checkpoint; undefined if that fails. */
export function frameCounter(database: Database): () => number | undefined {
  const noopCheckpoint = database.prepare<{ log: number }, []>("PRAGMA wal_checkpoint(NOOP)")
  return () => ignoreErrors(() => noopCheckpoint.get()?.log)
}

/** One sector, so that it is written atomically. */
const markLength = 128

function formatMark({ salts, frames, position, mayBeCut }: DurableState): string {
  const content = `latchkey 1 ${salts} ${frames} ${position} ${mayBeCut ? "cut" : "kept"}`
  return `${content.padEnd(markLength - 10)} ${sumOf(content)}\n`
}
const markPattern = /^(latchkey 1 ([0-9a-f]{16}) (\d+) (\d+) (cut|kept)) *([0-9a-f]{8})\n$/

const sumOf = (content: string) => Bun.hash.crc32(content).toString(16).padStart(8, "0")

function readIfExists(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return ""
    throw cause
  }
}

const markDamagedError = (file: string) =>
  new Fault(
    "failed_precondition",
    "start.mark_damaged",
    `${file}, which records how far the data was synced, is damaged; nothing was changed. ` +
      "Check the disk. If nothing else in the directory is damaged, move that file away and " +
      "start again",
  )
