import type { Database } from "bun:sqlite"

/** Where the file stands. */
type Standing = {
  readonly head: number
  /** How many events were dropped so far. */
  readonly pruned: string | null
  /** Up to when what expired was dropped. */
  readonly expired: string | null
  /** How often tables of views took the place of others. */
  readonly views: string | null
}

/** An event that another process has written; names are codes. */
export type Seen = {
  readonly position: number
  readonly instance: string
  readonly stream: number
  readonly id: string
  readonly type: number
}

/** What a process learns of what another one has written. */
export type Learning = {
  /** In the order of the log. */
  readonly written: (events: readonly Seen[]) => void
  /** So much was written, or something went, that nothing which is in memory counts any more. */
  readonly lost: () => void
  /** Other tables serve than before. */
  readonly turned: () => void
}

/** What this process sees of the file. */
export type Sight = {
  /** Sees to it that memory is true to what is in the file. */
  readonly look: () => void
  /** The same; and what is read from the file is of that one state, until the end of this turn. */
  readonly open: () => void
  /** The next look is at what is in the file by then. */
  readonly renew: () => void
  /** The newest event that was there at the last look. */
  readonly head: () => number
}

/** More events than these are not looked at one by one. */
const eventsMax = 2000

/**
 * Tells whether somebody has committed since it was asked last. Every commit counts in the header
 * of the WAL's index (https://sqlite.org/walformat.html), which all that have the file open share
 * in memory: to look there costs nothing, and what was told to anybody has been committed before.
 * Called before the database is opened: whoever closes that file later drops SQLite's locks.
 */
export function commitsOf(file: string): () => boolean {
  const bytes = Bun.mmap(`${file}-shm`)
  const header = new Uint32Array(bytes.buffer, bytes.byteOffset, headerWords)
  const last = new Uint32Array(headerWords)
  return () => {
    let hasMoved = false
    for (const at of telling) {
      const now = Atomics.load(header, at)
      if (last[at] === now) continue
      last[at] = now
      hasMoved = true
    }
    return hasMoved
  }
}

const headerWords = 12
/** Transactions, frames, and the two salts, which change when the WAL begins anew. */
const telling = [2, 4, 8, 9]

/**
 * Has all that is read from the file in one turn of the event loop come from one state of it, and
 * what is kept in memory from the same, from the first such read on. It is not kept for longer: the
 * WAL could not begin anew.
 */
export function sightOf(
  database: Database,
  hasMoved: () => boolean,
  { written, lost, turned }: Learning,
): Sight {
  const sql = statements(database)
  let isOpen = false
  let isEnding = false
  let isBehind = false
  const renew = () => {
    if (!isOpen) return
    isOpen = false
    // An error of the disk may have ended it already.
    if (database.inTransaction) sql.end.run()
  }
  const ending = () => {
    isEnding = false
    renew()
  }
  const standing = () => sql.standing.get() ?? nowhere
  let last: Standing = standing()
  const learn = (now: Standing) => {
    const before = last
    if (now.views !== before.views) turned()
    const isMuch = now.head - before.head > eventsMax
    if (isMuch || now.pruned !== before.pruned || now.expired !== before.expired) lost()
    else if (now.head !== before.head) written(sql.events.all(before.head, now.head))
    last = now
  }
  const open = () => {
    if (isOpen) return
    // Asked first: what is opened then is at least as new.
    isBehind = hasMoved() || isBehind
    sql.begin.run()
    isOpen = true
    try {
      learn(standing())
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
  return { look, open, renew, head: () => last.head }
}

const nowhere: Standing = { head: 0, pruned: null, expired: null, views: null }

const statements = (database: Database) => ({
  begin: database.prepare("BEGIN"),
  end: database.prepare("COMMIT"),
  standing: database.prepare<Standing, []>(
    `SELECT (SELECT coalesce(max(position), 0) FROM event) AS head,
       (SELECT value FROM meta WHERE key = 'pruned') AS pruned,
       (SELECT value FROM meta WHERE key = 'expired') AS expired,
       (SELECT value FROM meta WHERE key = 'views') AS views`,
  ),
  events: database.prepare<Seen, [number, number]>(
    `SELECT position, instance, stream, id, type FROM event
     WHERE position > ? AND position <= ? ORDER BY position`,
  ),
})
