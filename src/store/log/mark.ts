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
import { saltsIn } from "./wal.ts"

/** How far the WAL is on disk: so many frames of one of its runs. */
export type WalPlace = { readonly salts: string; readonly frames: number }

/** What is known to be on disk. */
export type Durable = WalPlace & {
  /** Of the newest event. */
  readonly position: number
  /** Whether the WAL may have been cut since, because the database file has all of it. */
  readonly mayBeCut: boolean
}

/** Says beside the database that there is data, and how far it was on disk. */
export type Mark = {
  /** Where the open WAL stands, right after a commit. */
  readonly place: (wal: number) => WalPlace
  /** Notes what has reached the disk. */
  readonly advance: (place: WalPlace, position: number) => void
  /** Notes, on disk, that the WAL may be cut from now on; false where that can't be written. */
  readonly release: () => Promise<boolean>
  /** The same, for a start that has nobody to keep waiting. */
  readonly releaseNow: () => boolean
  readonly close: () => void
}

export const markFile = (file: string): string => `${file}-mark`

/** Reads what the mark of a database says; undefined where there is none. */
export function readMark(file: string): Durable | undefined {
  const text = textIn(markFile(file))
  // Of a start that lost its power as it made the mark: its length is there, its bytes are not.
  if (/^\0*$/.test(text)) return undefined
  const [, said = "", salts = "", frames, position, cut, sum] = form.exec(text) ?? []
  if (!sum || sumOf(said) !== sum) throw malformedError(markFile(file))
  return { salts, frames: Number(frames), position: Number(position), mayBeCut: cut === "cut" }
}

/**
 * Opens the mark that says `known`, or makes that of a database which is on disk up to its `head`.
 *
 * It is written after each sync of the WAL, before anybody is answered, and not synced itself: that
 * would cost as much again. After a kill it says exactly what had been acknowledged, after a power
 * cut perhaps less, and never more than was on disk. It is synced only before the WAL is cut, when
 * what it says of the WAL ceases to be true.
 */
export function openMark(database: Database, known: Durable | undefined, head: number): Mark {
  const file = markFile(database.filename)
  let durable = known ?? { salts: "0".repeat(16), frames: 0, position: head, mayBeCut: true }
  const descriptor = known ? attempt(() => openSync(file, "r+")) : made(file, durable)
  const frames = framesIn(database)
  const write = (next: Durable): boolean => {
    durable = next
    if (descriptor === undefined) return false
    return attempt(() => writeSync(descriptor, textOf(next), 0)) !== undefined
  }
  const released = () => write({ ...durable, mayBeCut: true })
  // Where none could be made there is none that the WAL could be missed by.
  const otherwise = known === undefined
  return {
    place: (wal) => ({ salts: saltsIn(wal), frames: frames() ?? 0 }),
    advance: (place, position) => void write({ ...place, position, mayBeCut: false }),
    release: async () => {
      if (descriptor === undefined) return otherwise
      if (!released()) return false
      const { promise, resolve } = Promise.withResolvers<boolean>()
      fdatasync(descriptor, (cause) => resolve(cause === null))
      return promise
    },
    releaseNow: () => {
      if (descriptor === undefined) return otherwise
      return released() && attempt(() => fdatasyncSync(descriptor) ?? true) === true
    },
    close: () => {
      if (descriptor !== undefined) closeSync(descriptor)
    },
  }
}

/** Where no mark can be written, on a full disk perhaps, what there is promises less: no harm. */
function attempt<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch {
    return undefined
  }
}

/** On disk with its name, and with what it says: until then there is none. */
function made(file: string, durable: Durable): number | undefined {
  return attempt(() => {
    const descriptor = openSync(file, "w+", 0o600)
    writeSync(descriptor, textOf(durable), 0)
    fsyncSync(descriptor)
    const folder = openSync(dirname(file), "r")
    fsyncSync(folder)
    closeSync(folder)
    return descriptor
  })
}

/** Frames of the WAL's run, by a checkpoint that does nothing; undefined where none can be made. */
export function framesIn(database: Database): () => number | undefined {
  const look = database.prepare<{ log: number }, []>("PRAGMA wal_checkpoint(NOOP)")
  return () => attempt(() => look.get()?.log)
}

/** One sector, so that it is there as a whole or as it was. */
const length = 128

function textOf({ salts, frames, position, mayBeCut }: Durable): string {
  const said = `latchkey 1 ${salts} ${frames} ${position} ${mayBeCut ? "cut" : "kept"}`
  return `${said.padEnd(length - 10)} ${sumOf(said)}\n`
}
const form = /^(latchkey 1 ([0-9a-f]{16}) (\d+) (\d+) (cut|kept)) *([0-9a-f]{8})\n$/

const sumOf = (said: string) => Bun.hash.crc32(said).toString(16).padStart(8, "0")

function textIn(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return ""
    throw cause
  }
}

const malformedError = (file: string) =>
  new Fault(
    "failed_precondition",
    "start.mark_damaged",
    `${file}, which says how far the data was on disk, is damaged; nothing was changed. Check ` +
      "the disk. If nothing else in the folder is damaged, move that file away and start again",
  )
