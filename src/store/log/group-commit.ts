import type { Database } from "bun:sqlite"
import { isLocked, patiently } from "../patience.ts"

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
  readonly held: () => Promise<void> | undefined
  /** Runs a step at once; what it throws, or a result that is not kept, undoes that step alone. */
  readonly run: <T>(step: () => T, isKept: (result: T) => boolean) => T
  /** Resolves when the open group is committed; rejects when it had to be undone. */
  readonly ended: () => Promise<void>
  /** Nothing where none is open; else as `ended`. */
  readonly pending: () => Promise<void> | undefined
  /** Commits the open group now. */
  readonly flush: () => void
}

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
  const begin = () => {
    sql.begin.run()
    open = Promise.withResolvers()
    // Whoever waits hears of it; a group whose steps have all failed has nobody who waits.
    open.promise.catch(() => undefined)
    setImmediate(end)
  }
  const end = () => {
    const wait = busy()
    if (wait !== undefined) void wait.then(flush)
    else flush()
  }
  const flush = () => {
    if (!open) return
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
    if (database.inTransaction) sql.rollback.run()
    undone()
    open?.reject(cause)
    open = undefined
  }
  const back = () => {
    sql.back.run()
    sql.release.run()
  }

  return {
    held: holding(database.filename, () => {
      if (!open) begin()
    }),
    run: (step, isKept) => {
      if (!open) begin()
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
    ended: () => open?.promise ?? done,
    pending: () => open?.promise,
    flush,
  }
}

/** One promise for all who wait: the group that `begin` begins at last is theirs. */
function holding(file: string, begin: () => void): GroupCommit["held"] {
  let locked: Promise<void> | undefined
  return () => {
    if (locked !== undefined) return locked
    try {
      begin()
      return undefined
    } catch (cause) {
      if (!isLocked(cause, file)) throw cause
    }
    locked = patiently(file, begin).finally(() => {
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
