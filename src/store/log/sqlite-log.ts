import { SQLiteError } from "bun:sqlite"
import type { Fault } from "../../kernel/fault.ts"
import type { Durability } from "./durability.ts"
import { writtenOf } from "./event-types.ts"
import type { GroupCommit } from "./group-commit.ts"
import type { Append, Appended, Log, NewEvent, Pace } from "./log.ts"
import { blobName, damagedError, decode, isBlobWhole } from "./row.ts"
import { type Committing, committer, type Replica } from "./write/committer.ts"
import { type Conflict, claimOf, conflictOf, expired } from "./write/rows.ts"
import { type Statements, statements } from "./write/statements.ts"

type Parts = Committing & {
  /** Learns of the events of each step, once they are on disk. */
  readonly appended?: ((events: readonly NewEvent[]) => void) | undefined
  /** What callers are told of a disk that does not do what is asked; undefined for bugs. */
  readonly faultOf: (cause: unknown) => Fault | undefined
}

/** The log, and what those need who write to its database beside it. */
export type SqliteLog = Log & {
  /** Commits what the open group has written so far. */
  readonly flush: () => void
  /** Nothing, or what resolves when that is done by itself. */
  readonly pending: () => Promise<void> | undefined
  /**
   * Writes what was decided elsewhere, and commits it; answers what `work` answers. What it throws
   * undoes it all. `work` tells the events that it writes, in the order of their positions.
   */
  readonly replicate: (work: (replica: Replica) => void) => Promise<void>
  /**
   * Does to the tables what a step will do, and undoes it: what it throws is what was to be learnt.
   * A step that expects something else than is there is not tried; answers what that is.
   */
  readonly rehearse: (step: Append, work: () => void) => Promise<Conflict | undefined>
}

/**
 * The log in SQLite's WAL. One process writes the file and a step runs without a break, so a
 * conflict comes from a decision that was taken before commits were held, or by another process
 * that only reads the file: what it saw may be older. Or from a stream that it had not looked at.
 */
export function sqliteLog(parts: Parts): SqliteLog {
  const { database, gate, durability, faultOf } = parts
  const sql = statements(database)
  let undone = 0
  let writes = 0
  const written = writtenOf()
  const { group, commit, replicate } = committer(parts, sql, () => {
    undone++
    writes++
  })
  const settle = settling(group, parts)
  const told = telling(group, parts, settle)
  const hold = (pace?: Pace) => gate.open() ?? group.held(pace)
  const held = async () => {
    for (let each = hold(); each; each = hold()) await each
  }
  return {
    append: async (step) => {
      try {
        let isSeen = step.seen === writes
        for (let held = hold(step.pace); held; held = hold(step.pace)) {
          await held
          isSeen = false
        }
        const result = commit(isSeen ? { ...step, expect: [] } : step)
        writes++
        written.note(step, result)
        await told(step, result)
        return result
      } catch (cause) {
        const [begun] = isTwice(cause) ? (step.begun ?? []) : []
        if (begun) return { kind: "conflict", ...begun }
        throw faultOf(cause) ?? cause
      }
    },
    find: finding(parts, sql, written),
    ...readsOf(parts, sql),
    settle,
    durable: durability.durable,
    changes: () => durability.durable() + undone,
    changesOf: (names) => undone + written.steps(names),
    writes: () => writes,
    flush: group.flush,
    pending: group.pending,
    replicate: async (work) => {
      await held()
      replicate(work, (event) => written.event(event, event.position))
      writes++
      const ended = group.ended()
      group.flush()
      await ended
    },
    rehearse: async (step, work) => {
      await held()
      const conflict = conflictOf(sql, parts, step)
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
 * Whether an event is there already, of which the step was sure that it is not: somebody has chosen
 * the very id that was made for it.
 */
const isTwice = (cause: unknown): boolean =>
  cause instanceof SQLiteError &&
  cause.code === "SQLITE_CONSTRAINT_UNIQUE" &&
  cause.message.includes("event.stream")

/** Resolves when all that has been written is on disk. */
const settling =
  (group: GroupCommit, { durability, faultOf }: Parts): Log["settle"] =>
  async () => {
    try {
      await group.ended()
    } catch (cause) {
      throw faultOf(cause) ?? cause
    }
    await durability.settle()
  }

/** Resolves once whoever asked for a step may go on; of its events is told once it is on disk. */
const telling =
  (group: GroupCommit, { durability, appended }: Parts, settle: Log["settle"]) =>
  async ({ pace, events }: Append, { kind }: Appended) => {
    const tell = () => {
      if (kind === "appended") appended?.(events)
    }
    if (pace !== "later") return settle().then(tell)
    // Where the group is undone, there is nothing to tell anybody.
    void group.later().then(durability.settle).then(tell, nobodyWaits)
  }

const nobodyWaits = () => undefined

function finding(
  { names, durability, head }: Parts,
  sql: Statements,
  written: ReturnType<typeof writtenOf>,
): Log["find"] {
  return async (position, limit, types) => {
    // Most often nobody has written what is asked for; that is known without a look at the disk.
    const isKnown = position >= head && types.every((type) => written.last(type) <= position)
    if (isKnown) return { events: [], upTo: Math.max(position, durability.durable()) }
    const upTo = sql.window.get(position, durability.durable(), limit)?.last ?? position
    const codes = types.flatMap((type) => names.known(type) ?? [])
    const rows = upTo > position && codes.length > 0
    const found = rows ? sql.find.all(position, upTo, JSON.stringify(codes)) : []
    return { events: found.map((row) => decode(row, names)), upTo }
  }
}

/** What is on disk, as it was written. */
export function readsOf(
  {
    names,
    durability,
  }: Pick<Parts, "names"> & { readonly durability: Pick<Durability, "durable"> },
  sql: Statements,
): Pick<Log, "at" | "read" | "history" | "holder" | "blob"> {
  return {
    holder: (instance, kind, key, time) => {
      const row = claimOf(sql, instance, kind, key)
      return row && !expired(row, time) ? { stream: row.stream, id: row.id } : undefined
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
        return row ? [decode(row, names)] : []
      })
    },
    read: async (position, limit) =>
      sql.read.all(position, durability.durable(), limit).map((row) => decode(row, names)),
    history: async ({ instance, stream, id, from, since = 0, asc, limit }) => {
      const start = from ?? (asc ? 0 : Number.MAX_SAFE_INTEGER)
      const rows = (asc ? sql.onward : sql.back).all(
        instance,
        names.known(stream) ?? 0,
        id,
        start,
        durability.durable(),
        since,
        limit,
      )
      return rows.map((row) => decode(row, names))
    },
  }
}
