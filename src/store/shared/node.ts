import type { Database } from "bun:sqlite"
import type { Clock } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import type { AnyAggregate } from "../aggregate.ts"
import { supportedRevisions } from "../log/event-types.ts"
import { headOf } from "../log/row.ts"
import type { SqliteLog } from "../log/sqlite-log.ts"
import { createForget, type PruneParts, type SharedPruning } from "../retention/prune.ts"
import type { Node } from "../store-parts.ts"
import { createFollower, readPosition } from "./follower.ts"
import { createFollowingLog, type FollowingLog, type FollowingLogOptions } from "./following-log.ts"
import type { LocalEvent, LocalEvents } from "./postgres-epoch.ts"
import type { LogPosition, NodeStatus, OneTimeUse, SharedLog } from "./shared-log.ts"

/** The log that a node's file belongs to, and its position. */
export type LogMembership = {
  /** The permanent ID of the file: the same file is the same node. */
  readonly folder: string
  /** Undefined for a new file. */
  readonly follows: string | undefined
  readonly place: LogPosition
  /** The file's own events, to find the first that differs from the log. */
  readonly events: LocalEvents
  /** Revisions of event types that this program can read, by `stream/type`. */
  readonly reads: Readonly<Record<string, number>>
}

/** The lease of the leader, which does the work that must be done once. */
export const workLease = "work"

/** How a node shares the log with others. */
export type Sharing = Pick<FollowingLogOptions, "sleep" | "now" | "lost" | "found" | "clock"> & {
  /** Generates a unique ID. */
  readonly fresh: () => string
  readonly connect: (file: LogMembership) => Promise<SharedLog>
}

export type JoinedLog = Omit<Sharing, "connect" | "fresh"> & { readonly shared: SharedLog }

/** Reads which log a file belongs to. Rejects a file with its own log. */
export function readMembership(
  database: Database,
  aggregates: readonly AnyAggregate[],
  fresh: () => string,
): LogMembership {
  const follows = readMeta(database, "follows")
  const place = readPosition(database)
  if (follows === undefined && headOf(database) > 0) throw ownLogError()
  const folder = ensureFolderId(database, fresh)
  return {
    folder,
    follows,
    place,
    events: eventsUpTo(database),
    reads: supportedRevisions(aggregates),
  }
}

const eventsUpTo =
  (database: Database): LocalEvents =>
  (upTo, limit) =>
    database
      .query<LocalEvent, [number, number]>(
        `SELECT position, id, version, time, data FROM event WHERE position <= ?
         ORDER BY position DESC LIMIT ?`,
      )
      .all(upTo, limit)

/** Returns the permanent ID of a file, created on first use. */
export const ensureFolderId = (database: Database, fresh: () => string): string =>
  readMeta(database, "folder") ?? writeMeta(database, "folder", fresh())

/** Rejects the file of a node, which contains only a part of a log. */
export function requireOwnLog(database: Database): void {
  if (readMeta(database, "follows") !== undefined) throw partOfLogError()
}

/** Marks the file as part of that log. */
export function setMembership(database: Database, { id }: Pick<SharedLog, "id">): void {
  if (readMeta(database, "follows") !== undefined) return
  writeMeta(database, "pruned", "0")
  writeMeta(database, "follows", id)
}

export const readMeta = (database: Database, key: string): string | undefined =>
  database.query<{ value: string }, [string]>("SELECT value FROM meta WHERE key = ?").get(key)
    ?.value

export function writeMeta(database: Database, key: string, value: string): string {
  const insert = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING"
  database.query<unknown, [string, string]>(insert).run(key, value)
  return value
}

/** Per statement: other requests to the log wait no longer than one takes. */
const maxUsesPerStatement = 200

/** Batches pending uses, one statement after the other. */
export function createSpender(
  { spendOnce }: Pick<SharedLog, "spendOnce">,
  clock: Clock,
): Node["spendOnce"] {
  let waiting: PendingUse[] = []
  const spend = async (some: readonly PendingUse[]) => {
    const uses = some.map(({ use }) => use)
    const areFirst = await spendOnce(uses, clock.now())
    for (const [at, { resolve }] of some.entries()) resolve(areFirst[at] === true)
  }
  let isSending = false
  const send = async () => {
    isSending = true
    while (waiting.length > 0) {
      const all = waiting
      waiting = []
      try {
        for (let at = 0; at < all.length; at += maxUsesPerStatement)
          await spend(all.slice(at, at + maxUsesPerStatement))
      } catch (cause) {
        // The later ones would wait in vain; for answered ones this has no effect.
        for (const { reject } of all) reject(cause)
      }
    }
    isSending = false
  }
  return (usedKey, until) => {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    if (waiting.length === 0 && !isSending) setImmediate(() => void send())
    waiting.push({ use: { what: usedKey, until }, resolve, reject })
    return promise
  }
}

type PendingUse = {
  readonly use: OneTimeUse
  readonly resolve: (first: boolean) => void
  readonly reject: (cause: unknown) => void
}

/** Creates the node on a joined log. */
export function createNode(
  parts: JoinedLog &
    Omit<PruneParts, "shared"> &
    Pick<FollowingLogOptions, "faultOf"> & { readonly local: SqliteLog },
): { readonly log: FollowingLog; readonly node: Node; readonly drops: SharedPruning } {
  const { database, shared, local, views } = parts
  const follower = createFollower({ database, local, shared, forget: createForget(parts) })
  const log = createFollowingLog({ ...parts, follower, reduce: views.apply })
  let standing: readonly NodeStatus[] = []
  const { part, idTime, keys, reached, lease, failures, failed, unfailed } = shared
  const { failedAgain, dropClaims, purge } = shared
  return {
    log,
    node: {
      part,
      idTime,
      keys,
      reached,
      lease,
      failures,
      failed,
      unfailed,
      failedAgain,
      caughtUp: log.caughtUp,
      unseen: log.unseen,
      lost: log.lost,
      spendOnce: createSpender(shared, parts.clock),
      nodes: async () => {
        standing = await shared.nodes(follower.place(), workLease)
        return standing
      },
      standing: () => standing,
    },
    drops: {
      drop: log.drop,
      dropClaims,
      purge,
      // Only as far as the file is synced: in-memory state is read again.
      trim: (limit) => shared.trim(readPosition(database), limit),
    },
  }
}

const ownLogError = () =>
  new Fault(
    "failed_precondition",
    "start.log_own",
    "this data directory has its own log, but the setting database names one in " +
      "PostgreSQL; nothing was changed. Remove the setting, or start with an empty directory",
  )

const partOfLogError = () =>
  new Fault(
    "failed_precondition",
    "start.log_elsewhere",
    "this data directory belongs to a log in PostgreSQL; nothing was changed. Configure " +
      "that database with the setting database",
  )
