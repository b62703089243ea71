import type { Database } from "bun:sqlite"
import { systemClock, type Timer } from "../../kernel/clock.ts"
import { isLocked, patiently } from "../patience.ts"
import type { Pace } from "./log.ts"

/**
 * Steps that would wait for the same sync share one SQLite transaction, each in a savepoint of its
 * own: those of one turn of the event loop, and while a sync is under way those of the turns until
 * it ends, since the next can't begin before. Under load neighbouring steps write the same pages,
 * so that a page goes to the WAL once for all of them: half the work of a commit for each, and no
 * later answer.
 */
export type GroupCommit = {
  /**
   * Nothing where steps can run at once. While another program holds the database locked, what
   * resolves when they can; it rejects when that takes too long.
   */
  readonly held: (pace?: Pace) => Promise<void> | undefined
  /** Runs a step at once; what it throws, or a result that is not kept, undoes that step alone. */
  readonly run: <T>(step: () => T, isKept: (result: T) => boolean) => T
  /** As `ended`, without the wish that it be soon. */
  readonly later: () => Promise<void>
  /** Resolves when the open group is committed; rejects when it had to be undone. */
  readonly ended: () => Promise<void>
  /** Nothing where none is open; else as `ended`. */
  readonly pending: () => Promise<void> | undefined
  /** Commits the open group now. */
  readonly flush: () => void
}

/** So long a group may stay open for which nobody waits. */
const laterMs = 10

export type GroupCommitParts = {
  readonly database: Database
  /** What resolves when a group that ends now is best committed; nothing where that is now. */
  readonly busy: () => Promise<void> | undefined
  readonly committed: () => void
  /** All steps of the group were undone, those that had succeeded too. */
  readonly undone: () => void
}

export function groupCommit({ database, busy, committed, undone }: GroupCommitParts): GroupCommit {
  const sql = statements(database)
  let open: PromiseWithResolvers<void> | undefined
  const ending = endingOf(() => {
    const wait = busy()
    if (wait !== undefined) void wait.then(flush)
    else flush()
  })
  const begin = (pace: Pace) => {
    sql.begin.run()
    open = Promise.withResolvers()
    // Whoever waits hears of it; a group whose steps have all failed has nobody who waits.
    open.promise.catch(() => undefined)
    ending.set(pace)
  }
  const flush = () => {
    if (!open) return
    ending.forget()
    try {
      sql.commit.run()
    } catch (cause) {
      return abandon(cause)
    }
    committed()
    open.resolve()
    open = undefined
  }
  const abandon = (cause: unknown) => {
    ending.forget()
    if (database.inTransaction) sql.rollback.run()
    undone()
    open?.reject(cause)
    open = undefined
  }
  const soon = () => {
    ending.hurry()
    return open?.promise
  }
  const back = () => {
    sql.back.run()
    sql.release.run()
  }

  return {
    held: holding(database.filename, (pace) => {
      if (!open) begin(pace)
      else if (pace === "now") ending.hurry()
    }),
    run: (step, isKept) => {
      if (!open) begin("now")
      sql.savepoint.run()
      try {
        const result = step()
        if (isKept(result)) sql.release.run()
        else back()
        return result
      } catch (cause) {
        // SQLite itself ends the transaction on some errors (disk full, I/O).
        if (database.inTransaction) back()
        else abandon(cause)
        throw cause
      }
    },
    ended: () => soon() ?? done,
    later: () => open?.promise ?? done,
    pending: soon,
    flush,
  }
}

/** When `end` is called: with the turn, or later where nobody waits, until somebody does. */
function endingOf(end: () => void) {
  let patience: Timer | undefined
  const forget = () => {
    patience?.stop()
    patience = undefined
  }
  const hurry = () => {
    if (patience === undefined) return
    forget()
    setImmediate(end)
  }
  return {
    set: (pace: Pace) => {
      if (pace === "now") setImmediate(end)
      else patience = systemClock.after(laterMs, hurry)
    },
    hurry,
    forget,
  }
}

/** One promise for all who wait: the group that `begin` begins at last is theirs. */
function holding(file: string, begin: (pace: Pace) => void): GroupCommit["held"] {
  let locked: Promise<void> | undefined
  return (pace = "now") => {
    if (locked !== undefined) return locked
    try {
      begin(pace)
      return undefined
    } catch (cause) {
      if (!isLocked(cause, file)) throw cause
    }
    locked = patiently(file, () => begin("now")).finally(() => {
      locked = undefined
    })
    return locked
  }
}

const done = Promise.resolve()

const statements = (database: Database) => ({
  begin: database.prepare("BEGIN IMMEDIATE"),
  commit: database.prepare("COMMIT"),
  rollback: database.prepare("ROLLBACK"),
  savepoint: database.prepare("SAVEPOINT step"),
  release: database.prepare("RELEASE step"),
  back: database.prepare("ROLLBACK TO step"),
})
