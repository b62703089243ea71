import { SQLiteError } from "bun:sqlite"
import { closeSync, openSync, readSync, statSync, unlinkSync, writeSync } from "node:fs"
import { Fault } from "../kernel/fault.ts"

/**
 * A disk failure. All but `damaged` can be temporary or be fixed at run time: no acknowledged data
 * is lost, and the operation can be retried.
 */
export type DiskFailure = {
  readonly kind: DiskFailureKind
  /** What happened and what to do, in plain words. */
  readonly message: string
}

type DiskFailureKind = (typeof kinds)[number]
const kinds = ["busy", "full", "quota", "limit", "readonly", "broken", "damaged"] as const

/** What operators can do; none of these is the caller's fault. */
const messages: Readonly<Record<DiskFailureKind, string>> = {
  busy: "the database is locked by another program; stop it or wait until it finishes",
  full: "the disk is full, so nothing can be saved; free some space",
  quota: "the disk quota is exhausted, so nothing can be saved; raise it or free some space",
  limit:
    "the database has reached the maximum file size; raise the limit of the process or use " +
    "another file system",
  readonly:
    "the database can't be written; check the owner of the data directory and its files, " +
    "and whether the disk is mounted read-only",
  broken:
    "the disk can't be read or written (input/output error); check the disk and the system " +
    "log. The data may be intact: don't restore a backup over it before the disk works " +
    "again",
  damaged:
    "the database is damaged; check whether the disk is failing, then restore the data " +
    "directory from a backup",
}

/** By error code of the operating system. */
const kindsBySystemCode: Readonly<Record<string, DiskFailureKind>> = {
  ENOSPC: "full",
  EDQUOT: "quota",
  EFBIG: "limit",
  EROFS: "readonly",
  EACCES: "readonly",
  EPERM: "readonly",
  EIO: "broken",
}

const kindsBySqliteCode: Readonly<Record<string, DiskFailureKind>> = {
  SQLITE_BUSY: "busy",
  SQLITE_LOCKED: "busy",
  SQLITE_PROTOCOL: "busy",
  SQLITE_FULL: "full",
  SQLITE_IOERR: "broken",
  SQLITE_READONLY: "readonly",
  SQLITE_CANTOPEN: "readonly",
  SQLITE_PERM: "readonly",
  SQLITE_CORRUPT: "damaged",
  SQLITE_NOTADB: "damaged",
}

const faultIdOf = (kind: DiskFailureKind) => `store.disk_${kind}`
const createFailure = (kind: DiskFailureKind): DiskFailure => ({ kind, message: messages[kind] })

/** Faults that already describe a disk failure. */
const failuresByFaultId: ReadonlyMap<string, DiskFailure> = new Map([
  ...kinds.map((kind) => [faultIdOf(kind), createFailure(kind)] as const),
])

/**
 * Classifies an error as a disk failure; undefined for other errors. SQLite doesn't distinguish
 * quota, size limit and broken disk, so a small write next to `file` determines which one it is.
 */
export function classifyDiskFailure(
  cause: unknown,
  file: string,
  probe: (file: string) => string = writeProbe,
): DiskFailure | undefined {
  if (cause instanceof Fault) {
    return cause.code === "data_loss" ? createFailure("damaged") : failuresByFaultId.get(cause.id)
  }
  const code = errorCodeOf(cause)
  if (!(cause instanceof SQLiteError)) {
    const kind = isFileError(cause) ? kindsBySystemCode[code] : undefined
    return kind && createFailure(kind)
  }
  const kind = kindsBySqliteCode[code.split("_", 2).join("_")]
  if (kind !== "broken" && kind !== "full") return kind && createFailure(kind)
  return createFailure(kindsBySystemCode[probe(file)] ?? kind)
}

/** The same as a fault for callers; undefined for other errors and for faults. */
export function toDiskFault(cause: unknown, file: string): Fault | undefined {
  const found = cause instanceof Fault ? undefined : classifyDiskFailure(cause, file)
  return found && createDiskFault(found, cause)
}

export function createDiskFault({ kind, message }: DiskFailure, cause?: unknown): Fault {
  const code = kind === "damaged" ? "data_loss" : "unavailable"
  return new Fault(code, faultIdOf(kind), message, { cause })
}

/** The same for files that SQLite no longer has open: an unreadable file looks damaged to it. */
export function classifyClosedFileFailure(cause: unknown, file: string): DiskFailure | undefined {
  const found = classifyDiskFailure(cause, file)
  if (found?.kind !== "damaged") return found
  const isUnreadable = [file, `${file}-wal`].some((each) => readProbe(each) === "EIO")
  return isUnreadable ? createFailure("broken") : found
}

/** Why new files next to the database can't grow; undefined if they can. */
export function findSpaceFailure(file: string): DiskFailure | undefined {
  const kind = kindsBySystemCode[writeProbe(file)]
  return kind && isSpaceKind(kind) ? createFailure(kind) : undefined
}

/** Whether only disk space is missing: reading still works. */
export const isSpaceFailure = ({ kind }: DiskFailure): boolean => isSpaceKind(kind)
const isSpaceKind = (kind: DiskFailureKind) =>
  kind === "full" || kind === "quota" || kind === "limit"

/**
 * Reads a file completely and returns the system's error code; "" on success. To SQLite an
 * unreadable file looks damaged. Never use it for a file that SQLite has open: closing it would
 * drop SQLite's locks.
 */
export function readProbe(file: string): string {
  const buffer = new Uint8Array(1 << 20)
  return catchErrorCode(() => {
    const descriptor = openSync(file, "r")
    try {
      while (readSync(descriptor, buffer) > 0);
    } finally {
      closeSync(descriptor)
    }
  })
}

/** Sockets fail with some of the same codes. */
const isFileError = (cause: unknown): boolean =>
  cause instanceof Error && "syscall" in cause && cause.syscall !== "connect"

const writeProbe = (file: string): string => catchErrorCode(() => tryWrite(file))

/** The fault for a failure to create a file of the given size. */
export function toNewFileFault(cause: unknown, file: string, bytes: number): Fault | undefined {
  const probe = () => catchErrorCode(() => tryWrite(file, bytes))
  const found = cause instanceof Fault ? undefined : classifyDiskFailure(cause, file, probe)
  return found && createDiskFault(found, cause)
}

/**
 * Writes a few bytes to a temporary file next to the database, and deletes it; throws the system's
 * error.
 */
export function tryWrite(file: string, bytes = 0): void {
  const probe = `${file}-probe`
  const size = (name: string) => statSync(name, { throwIfNoEntry: false })?.size ?? 0
  const end = Math.max(size(file), size(`${file}-wal`), bytes)
  const descriptor = openSync(probe, "w", 0o600)
  try {
    unlinkSync(probe)
    writeSync(descriptor, new Uint8Array(65536), 0, 65536, 0)
    writeSync(descriptor, new Uint8Array(4096), 0, 4096, end)
  } finally {
    closeSync(descriptor)
  }
}

function catchErrorCode(attempt: () => void): string {
  try {
    attempt()
    return ""
  } catch (cause) {
    return errorCodeOf(cause)
  }
}

const errorCodeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : ""
