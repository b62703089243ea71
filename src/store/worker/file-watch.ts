import type { Database } from "bun:sqlite"

/** The state of the file. */
type FileState = {
  readonly head: number
  /** The number of pruned events. */
  readonly pruned: string | null
  /** The time up to which expired data was pruned. */
  readonly expired: string | null
  /** The number of times that view tables were replaced. */
  readonly views: string | null
}

/** An event that another process has written; names are codes. */
export type SeenEvent = {
  readonly position: number
  readonly instance: string
  readonly stream: number
  readonly id: string
  readonly type: number
}

/** Notifications about another process's writes. */
export type ChangeHandlers = {
  /** In log order. */
  readonly onWritten: (events: readonly SeenEvent[]) => void
  /** So much was written or removed that all in-memory state is invalid. */
  readonly onInvalidated: () => void
  /** The served tables have changed. */
  readonly onTablesChanged: () => void
}

/** This process's snapshot of the file. */
export type FileSnapshot = {
  /** Updates in-memory state to match the file. */
  readonly refresh: () => void
  /** The same; file reads then use a single snapshot until the end of this turn. */
  readonly openSnapshot: () => void
  /** The next lookup uses the current content of the file. */
  readonly invalidate: () => void
  /** The newest event at the last lookup. */
  readonly head: () => number
}

/** More events than this are not processed one by one. */
const maxEvents = 2000

/**
 * Detects commits since the last call. Every commit is counted in the header of the WAL index
 * (https://sqlite.org/walformat.html), which all processes with the file open share in memory:
 * reading it costs nothing, and everything returned to callers was committed before. Must be called
 * before the database is opened: closing the file later would drop SQLite's locks.
 */
export function createCommitDetector(file: string): () => boolean {
  const bytes = Bun.mmap(`${file}-shm`)
  const header = new Uint32Array(bytes.buffer, bytes.byteOffset, headerWords)
  const last = new Uint32Array(headerWords)
  return () => {
    let hasMoved = false
    for (const at of relevantWords) {
      const now = Atomics.load(header, at)
      if (last[at] === now) continue
      last[at] = now
      hasMoved = true
    }
    return hasMoved
  }
}

const headerWords = 12
/** Transactions, frames, and the two salts, which change when the WAL restarts. */
const relevantWords = [2, 4, 8, 9]

/**
 * Makes all reads in one turn of the event loop use the same snapshot, and in-memory state match
 * it, from the first read on. The snapshot is not held longer, because the WAL could not restart.
 */
export function createFileSnapshot(
  database: Database,
  hasMoved: () => boolean,
  { onWritten, onInvalidated, onTablesChanged }: ChangeHandlers,
): FileSnapshot {
  const sql = prepareStatements(database)
  let isOpen = false
  let isEnding = false
  let isBehind = false
  const renew = () => {
    if (!isOpen) return
    isOpen = false
    // A disk error may already have ended the transaction.
    if (database.inTransaction) sql.end.run()
  }
  const ending = () => {
    isEnding = false
    renew()
  }
  const fileState = () => sql.standing.get() ?? initialState
  let last: FileState = fileState()
  const notify = (now: FileState) => {
    const before = last
    if (now.views !== before.views) onTablesChanged()
    const isMuch = now.head - before.head > maxEvents
    if (isMuch || now.pruned !== before.pruned || now.expired !== before.expired) onInvalidated()
    else if (now.head !== before.head) onWritten(sql.events.all(before.head, now.head))
    last = now
  }
  const open = () => {
    if (isOpen) return
    // Checked first: the snapshot opened afterwards is at least as new.
    isBehind = hasMoved() || isBehind
    sql.begin.run()
    isOpen = true
    try {
      notify(fileState())
      isBehind = false
    } catch (cause) {
      renew()
      throw cause
    }
    if (isEnding) return
    isEnding = true
    setImmediate(ending)
  }
  const look = () => {
    if (isOpen) return
    isBehind = hasMoved() || isBehind
    if (isBehind) open()
  }
  return { refresh: look, openSnapshot: open, invalidate: renew, head: () => last.head }
}

const initialState: FileState = { head: 0, pruned: null, expired: null, views: null }

const prepareStatements = (database: Database) => ({
  begin: database.prepare("BEGIN"),
  end: database.prepare("COMMIT"),
  standing: database.prepare<FileState, []>(
    `SELECT (SELECT coalesce(max(position), 0) FROM event) AS head,
       (SELECT value FROM meta WHERE key = 'pruned') AS pruned,
       (SELECT value FROM meta WHERE key = 'expired') AS expired,
       (SELECT value FROM meta WHERE key = 'views') AS views`,
  ),
  events: database.prepare<SeenEvent, [number, number]>(
    `SELECT position, instance, stream, id, type FROM event
     WHERE position > ? AND position <= ? ORDER BY position`,
  ),
})
