import type { Database } from "bun:sqlite"
import { systemClock, type Timer } from "../../kernel/clock.ts"
import { isLocked, retryWhileLocked } from "../retry.ts"
import type { CommitPace } from "./log.ts"

/**
 * Group commit: transactions that would wait for the same sync share one SQLite transaction, each
 * in its own savepoint. A group contains those of one turn of the event loop, or all until the
 * running sync ends, because the next sync can't start earlier. Under load, neighboring writes
 * touch the same pages, so each page is written to the WAL once for all of them: this halves the
 * work per commit without delaying responses.
 */
export type GroupCommit = {
  /**
   * Undefined if steps can run immediately. While another program has locked the database, a
   * promise that resolves when they can, or rejects after a timeout.
   */
  readonly waitUntilAvailable: (pace?: CommitPace) => Promise<void> | undefined
  /**
   * Runs a step immediately; an exception, or a result that is not kept, rolls back only that step.
   */
  readonly run: <T>(step: () => T, isKept: (result: T) => boolean) => T
  /** Like `ended`, but without hurrying the commit. */
  readonly committed: () => Promise<void>
  /** Resolves when the open group is committed; rejects if it was rolled back. */
  readonly commitSoon: () => Promise<void>
  /** Like `ended`; undefined if no group is open. */
  readonly commitIfOpen: () => Promise<void> | undefined
  /** Commits the open group immediately. */
  readonly flush: () => void
}

/** Maximum time that a group stays open if nothing waits for it. */
const maxOpenMs = 10

export type GroupCommitOptions = {
  readonly database: Database
  /** Resolves when the best time to commit is; undefined means now. */
  readonly busy: () => Promise<void> | undefined
  readonly committed: () => void
  /** All steps of the group were rolled back, including those that had succeeded. */
  readonly undone: () => void
}

export function createGroupCommit({
  database,
  busy,
  committed,
  undone,
}: GroupCommitOptions): GroupCommit {
  const sql = prepareStatements(database)
  let open: PromiseWithResolvers<void> | undefined
  const endTimer = createEndTimer(() => {
    const wait = busy()
    if (wait !== undefined) void wait.then(flush)
    else flush()
  })
  const begin = (pace: CommitPace) => {
    sql.begin.run()
    open = Promise.withResolvers()
    // Waiting callers receive the rejection; if all steps failed, there are none.
    open.promise.catch(() => undefined)
    endTimer.set(pace)
  }
  const flush = () => {
    if (!open) return
    endTimer.forget()
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
    endTimer.forget()
    if (database.inTransaction) sql.rollback.run()
    undone()
    open?.reject(cause)
    open = undefined
  }
  const hurryCommit = () => {
    endTimer.hurry()
    return open?.promise
  }
  const rollbackStep = () => {
    sql.back.run()
    sql.release.run()
  }

  return {
    waitUntilAvailable: createHold(database.filename, (pace) => {
      if (!open) begin(pace)
      else if (pace === "now") endTimer.hurry()
    }),
    run: (step, isKept) => {
      if (!open) begin("now")
      sql.savepoint.run()
      try {
        const result = step()
        if (isKept(result)) sql.release.run()
        else rollbackStep()
        return result
      } catch (cause) {
        // SQLite itself ends the transaction on some errors (disk full, I/O).
        if (database.inTransaction) rollbackStep()
        else abandon(cause)
        throw cause
      }
    },
    commitSoon: () => hurryCommit() ?? resolved,
    committed: () => open?.promise ?? resolved,
    commitIfOpen: hurryCommit,
    flush,
  }
}

/** Decides when `end` is called: at the end of the turn, or later if nothing waits. */
function createEndTimer(end: () => void) {
  let delayTimer: Timer | undefined
  const cancel = () => {
    delayTimer?.stop()
    delayTimer = undefined
  }
  const endSoon = () => {
    if (delayTimer === undefined) return
    cancel()
    setImmediate(end)
  }
  return {
    set: (pace: CommitPace) => {
      if (pace === "now") setImmediate(end)
      else delayTimer = systemClock.after(maxOpenMs, endSoon)
    },
    hurry: endSoon,
    forget: cancel,
  }
}

/** One promise for all waiting callers: they join the next group. */
function createHold(
  file: string,
  begin: (pace: CommitPace) => void,
): GroupCommit["waitUntilAvailable"] {
  let lockedUntil: Promise<void> | undefined
  return (pace = "now") => {
    if (lockedUntil !== undefined) return lockedUntil
    try {
      begin(pace)
      return undefined
    } catch (cause) {
      if (!isLocked(cause, file)) throw cause
    }
    lockedUntil = retryWhileLocked(file, () => begin("now")).finally(() => {
      lockedUntil = undefined
    })
    return lockedUntil
  }
}

const resolved = Promise.resolve()

const prepareStatements = (database: Database) => ({
  begin: database.prepare("BEGIN IMMEDIATE"),
  commit: database.prepare("COMMIT"),
  rollback: database.prepare("ROLLBACK"),
  savepoint: database.prepare("SAVEPOINT step"),
  release: database.prepare("RELEASE step"),
  back: database.prepare("ROLLBACK TO step"),
})
