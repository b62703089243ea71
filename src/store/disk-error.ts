import { SQLiteError } from "bun:sqlite"
import { closeSync, openSync, readSync, statSync, unlinkSync, writeSync } from "node:fs"
import { Fault } from "../kernel/fault.ts"

/**
 * Why the disk does not do what is asked. All but `damaged` may pass by themselves or be mended
 * while we run: nothing that was acknowledged is lost, and whoever met one may try again.
 */
export type DiskTrouble = {
  readonly kind: Kind
  /** What happened and what to do, in plain words. */
  readonly message: string
}

type Kind = (typeof kinds)[number]
const kinds = ["busy", "full", "quota", "limit", "readonly", "broken", "damaged"] as const

/** What a person can do about each; none of them is the caller's fault. */
const messages: Readonly<Record<Kind, string>> = {
  busy: "another program holds the database locked; stop it, or let it finish",
  full: "the disk is full, so nothing can be saved; free some space",
  quota: "the disk quota is used up, so nothing can be saved; raise it, or free some space",
  limit:
    "the database has reached the largest size that a file may have here; raise the limit of the " +
    "process or use another file system",
  readonly:
    "the database can't be written; check who owns the data folder and its files, and whether " +
    "the disk is mounted read-only",
  broken:
    "the disk fails to read or write (input/output error); check it and the system's log. The " +
    "data may be whole: don't restore a backup over it before the disk works again",
  damaged:
    "the database is damaged; check the disk, which may be failing, then restore the data folder " +
    "from a backup",
}

/** What the system's own error codes say. */
const bySystem: Readonly<Record<string, Kind>> = {
  ENOSPC: "full",
  EDQUOT: "quota",
  EFBIG: "limit",
  EROFS: "readonly",
  EACCES: "readonly",
  EPERM: "readonly",
  EIO: "broken",
}

const bySqlite: Readonly<Record<string, Kind>> = {
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

const idOf = (kind: Kind) => `store.disk_${kind}`
const trouble = (kind: Kind): DiskTrouble => ({ kind, message: messages[kind] })

/** Faults that said it already. */
const byFault: ReadonlyMap<string, DiskTrouble> = new Map([
  ...kinds.map((kind) => [idOf(kind), trouble(kind)] as const),
])

/**
 * Tells troubles of the disk apart; undefined for what is none. SQLite calls a quota, a limit and a
 * broken disk the same, so that a small write beside the database `file` finds out.
 */
export function diskTroubleOf(
  cause: unknown,
  file: string,
  probe: (file: string) => string = writeProbe,
): DiskTrouble | undefined {
  if (cause instanceof Fault) {
    return cause.code === "data_loss" ? trouble("damaged") : byFault.get(cause.id)
  }
  const code = codeOf(cause)
  if (!(cause instanceof SQLiteError)) {
    const kind = isOfFiles(cause) ? bySystem[code] : undefined
    return kind && trouble(kind)
  }
  const kind = bySqlite[code.split("_", 2).join("_")]
  if (kind !== "broken" && kind !== "full") return kind && trouble(kind)
  return trouble(bySystem[probe(file)] ?? kind)
}

/** The same as a fault that callers may see; undefined for what is none, or is a fault already. */
export function diskFaultOf(cause: unknown, file: string): Fault | undefined {
  const found = cause instanceof Fault ? undefined : diskTroubleOf(cause, file)
  return found && diskFault(found, cause)
}

export function diskFault({ kind, message }: DiskTrouble, cause?: unknown): Fault {
  const code = kind === "damaged" ? "data_loss" : "unavailable"
  return new Fault(code, idOf(kind), message, { cause })
}

/**
 * The same of files that SQLite doesn't have open any more: what can't be read looks damaged to it.
 */
export function closedTroubleOf(cause: unknown, file: string): DiskTrouble | undefined {
  const found = diskTroubleOf(cause, file)
  if (found?.kind !== "damaged") return found
  const isUnreadable = [file, `${file}-wal`].some((each) => readProbe(each) === "EIO")
  return isUnreadable ? trouble("broken") : found
}

/** What keeps files beside the database from growing now; undefined where they can. */
export function roomTroubleOf(file: string): DiskTrouble | undefined {
  const kind = bySystem[writeProbe(file)]
  return kind && isOfRoom(kind) ? trouble(kind) : undefined
}

/** Whether more room is all that is lacking: reading goes on. */
export const lacksRoom = ({ kind }: DiskTrouble): boolean => isOfRoom(kind)
const isOfRoom = (kind: Kind) => kind === "full" || kind === "quota" || kind === "limit"

/**
 * Reads a file to its end, and answers the system's code of what fails; "" where nothing does. To
 * SQLite a file that can't be read looks damaged. Never for one that SQLite has open: to close it
 * would drop SQLite's locks.
 */
export function readProbe(file: string): string {
  const buffer = new Uint8Array(1 << 20)
  return codeFrom(() => {
    const descriptor = openSync(file, "r")
    try {
      while (readSync(descriptor, buffer) > 0);
    } finally {
      closeSync(descriptor)
    }
  })
}

/** Sockets fail with some of the same codes. */
const isOfFiles = (cause: unknown): boolean =>
  cause instanceof Error && "syscall" in cause && cause.syscall !== "connect"

const writeProbe = (file: string): string => codeFrom(() => tryToWrite(file))

/** The same fault for a new file that was to become so many bytes long. */
export function newFileFaultOf(cause: unknown, file: string, bytes: number): Fault | undefined {
  const probe = () => codeFrom(() => tryToWrite(file, bytes))
  const found = cause instanceof Fault ? undefined : diskTroubleOf(cause, file, probe)
  return found && diskFault(found, cause)
}

/**
 * Writes a little where the database would next grow, in a file of its own that is gone at once;
 * throws what the system says.
 */
export function tryToWrite(file: string, bytes = 0): void {
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

function codeFrom(attempt: () => void): string {
  try {
    attempt()
    return ""
  } catch (cause) {
    return codeOf(cause)
  }
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : ""
