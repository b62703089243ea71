import { SQLiteError } from "bun:sqlite"
import type { Fault } from "../../kernel/fault.ts"
import type { Durability } from "./durability.ts"
import { createWriteCounter } from "./event-types.ts"
import type { GroupCommit } from "./group-commit.ts"
import type { Append, AppendResult, CommitPace, Log, NewEvent } from "./log.ts"
import { blobName, damagedError, decodeEvent, isBlobWhole } from "./row.ts"
import { type CommitParts, createCommitter, type ReplicaWriter } from "./write/committer.ts"
import { type Conflict, findClaim, findConflict, isExpired } from "./write/rows.ts"
import { prepareStatements, type Statements } from "./write/statements.ts"

type SqliteLogParts = CommitParts & {
  /** Receives the events of each transaction once they are synced. */
  readonly appended?: ((events: readonly NewEvent[]) => void) | undefined
  /** The fault for a disk failure; undefined for bugs. */
  readonly faultOf: (cause: unknown) => Fault | undefined
}

/** The log, with functions for other writers of its database. */
export type SqliteLog = Log & {
  /** Commits the open group. */
  readonly flush: () => void
  /** Resolves when the open group is committed; undefined if there is none. */
  readonly pending: () => Promise<void> | undefined
  /**
   * Writes transactions of another process or node, and commits them; an exception rolls everything
   * back. `work` reports its events in position order.
   */
  readonly replicate: (work: (replica: ReplicaWriter) => void) => Promise<void>
  /**
   * Applies a transaction and rolls it back, for dry runs; `work` throws the result. Returns the
   * conflict instead if an expected version differs.
   */
  readonly rehearse: (step: Append, work: () => void) => Promise<Conflict | undefined>
}

/**
 * The log in SQLite's WAL. One process writes the file, and a step runs without interruption;
 * therefore a conflict can only come from a decision made before commits were paused, from another
 * process with an older snapshot, or from a stream that was not looked up.
 */
export function createSqliteLog(parts: SqliteLogParts): SqliteLog {
  const { database, gate, durability, faultOf } = parts
  const sql = prepareStatements(database)
  let rollbacks = 0
  let writes = 0
  const written = createWriteCounter()
  const { group, commit, replicate } = createCommitter(parts, sql, () => {
    rollbacks++
    writes++
  })
  const settle = createSettle(group, parts)
  const notifyAppended = createNotify(group, parts, settle)
  const pauseIfNeeded = (pace?: CommitPace) => gate.open() ?? group.waitUntilAvailable(pace)
  const held = async () => {
    for (let each = pauseIfNeeded(); each; each = pauseIfNeeded()) await each
  }
  return {
    append: async (step) => {
      try {
        let isUnchanged = step.seen === writes
        for (let held = pauseIfNeeded(step.pace); held; held = pauseIfNeeded(step.pace)) {
          await held
          isUnchanged = false
        }
        const result = commit(isUnchanged ? { ...step, expect: [] } : step)
        writes++
        written.note(step, result)
        await notifyAppended(step, result)
        return result
      } catch (cause) {
        const [begun] = isDuplicateStream(cause) ? (step.begun ?? []) : []
        if (begun) return { kind: "conflict", ...begun }
        throw faultOf(cause) ?? cause
      }
    },
    find: createFind(parts, sql, written),
    ...createReads(parts, sql),
    settle,
    durable: durability.durablePosition,
    changes: () => durability.durablePosition() + rollbacks,
    changesOf: (names) => rollbacks + written.steps(names),
    writes: () => writes,
    flush: group.flush,
    pending: group.commitIfOpen,
    replicate: async (work) => {
      await held()
      replicate(work, (event) => written.event(event, event.position))
      writes++
      const ended = group.commitSoon()
      group.flush()
      await ended
    },
    rehearse: async (step, work) => {
      await held()
      const conflict = findConflict(sql, parts, step)
      if (!conflict) group.run(work, () => false)
      return conflict
    },
    close: async () => {
      await settle()
      await gate.close()
      await durability.close()
    },
  }
}

/**
 * Whether an event already exists that the transaction assumed absent: its generated ID was chosen
 * by another caller.
 */
const isDuplicateStream = (cause: unknown): boolean =>
  cause instanceof SQLiteError &&
  cause.code === "SQLITE_CONSTRAINT_UNIQUE" &&
  cause.message.includes("event.stream")

/** Resolves when everything written is synced. */
const createSettle =
  (group: GroupCommit, { durability, faultOf }: SqliteLogParts): Log["settle"] =>
  async () => {
    try {
      await group.commitSoon()
    } catch (cause) {
      throw faultOf(cause) ?? cause
    }
    await durability.waitUntilSynced()
  }

/** Resolves when the caller may continue; reports the events once they are synced. */
const createNotify =
  (group: GroupCommit, { durability, appended }: SqliteLogParts, settle: Log["settle"]) =>
  async ({ pace, events }: Append, { kind }: AppendResult) => {
    const notify = () => {
      if (kind === "appended") appended?.(events)
    }
    if (pace !== "later") return settle().then(notify)
    // After a rollback there is nothing to report.
    void group.committed().then(durability.waitUntilSynced).then(notify, ignoreRejection)
  }

const ignoreRejection = () => undefined

function createFind(
  { names, durability, head }: SqliteLogParts,
  sql: Statements,
  written: ReturnType<typeof createWriteCounter>,
): Log["find"] {
  return async (position, limit, types) => {
    // Usually no event of these types was written; that is known without a query.
    const isKnown = position >= head && types.every((type) => written.last(type) <= position)
    if (isKnown) return { events: [], upTo: Math.max(position, durability.durablePosition()) }
    const upTo = sql.window.get(position, durability.durablePosition(), limit)?.last ?? position
    const codes = types.flatMap((type) => names.findCode(type) ?? [])
    const rows = upTo > position && codes.length > 0
    const found = rows ? sql.find.all(position, upTo, JSON.stringify(codes)) : []
    return { events: found.map((row) => decodeEvent(row, names)), upTo }
  }
}

/** Reads durable data as it was written. */
export function createReads(
  {
    names,
    durability,
  }: Pick<SqliteLogParts, "names"> & { readonly durability: Pick<Durability, "durablePosition"> },
  sql: Statements,
): Pick<Log, "at" | "read" | "history" | "holder" | "blob"> {
  return {
    holder: (instance, kind, key, time) => {
      const row = findClaim(sql, instance, kind, key)
      return row && !isExpired(row, time) ? { stream: row.stream, id: row.id } : undefined
    },
    blob: ({ instance, stream, id, name }) => {
      const row = sql.blob.get(instance, id, stream, name)
      if (row && !isBlobWhole(row)) throw damagedError(blobName(row))
      return row?.bytes
    },
    at: async (positions) => {
      const rows = new Map(
        sql.at.all(JSON.stringify(positions)).map((row) => [row.position, row] as const),
      )
      return positions.flatMap((position) => {
        const row = rows.get(position)
        return row ? [decodeEvent(row, names)] : []
      })
    },
    read: async (position, limit) =>
      sql.read
        .all(position, durability.durablePosition(), limit)
        .map((row) => decodeEvent(row, names)),
    history: async ({ instance, stream, id, from, since = 0, asc, limit }) => {
      const start = from ?? (asc ? 0 : Number.MAX_SAFE_INTEGER)
      const rows = (asc ? sql.onward : sql.back).all(
        instance,
        names.findCode(stream) ?? 0,
        id,
        start,
        durability.durablePosition(),
        since,
        limit,
      )
      return rows.map((row) => decodeEvent(row, names))
    },
  }
}
