import type { Database } from "bun:sqlite"
import type { Clock } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import type { AnyAggregate } from "../aggregate.ts"
import { readsOf } from "../log/event-types.ts"
import { headOf } from "../log/row.ts"
import type { SqliteLog } from "../log/sqlite-log.ts"
import { forgetting, type PruneParts, type SharedDrops } from "../retention/prune.ts"
import type { Node } from "../store-parts.ts"
import { followerOf, placeOf } from "./follower.ts"
import { type FollowingLog, type FollowingParts, followingLog } from "./following-log.ts"
import type { LocalEvent, LocalEvents } from "./postgres-epoch.ts"
import type { NodeStanding, Place, SharedLog, Use } from "./shared-log.ts"

/** Which log a node's own file belongs to, and how much of it the file has. */
export type Belonging = {
  /** Names the file, forever: whose file is the same is the same node. */
  readonly folder: string
  /** Undefined for a new file. */
  readonly follows: string | undefined
  readonly place: Place
  /** The file's own events, to find the first that differs from the log's. */
  readonly events: LocalEvents
  /** Revisions of event types that this program reads, by `stream/type`. */
  readonly reads: Readonly<Record<string, number>>
}

/** Held by the one node that does what must be done once. */
export const workLease = "work"

/** How one of several nodes shares the log with the others. */
export type Sharing = Pick<FollowingParts, "sleep" | "now" | "lost" | "found" | "clock"> & {
  /** Unlike any other. */
  readonly fresh: () => string
  readonly connect: (file: Belonging) => Promise<SharedLog>
}

export type Joined = Omit<Sharing, "connect" | "fresh"> & { readonly shared: SharedLog }

/** What a file says of itself. Refuses one that has a log of its own. */
export function belongingOf(
  database: Database,
  aggregates: readonly AnyAggregate[],
  fresh: () => string,
): Belonging {
  const follows = metaOf(database, "follows")
  const place = placeOf(database)
  if (follows === undefined && headOf(database) > 0) throw ownLogError()
  const folder = folderOf(database, fresh)
  return { folder, follows, place, events: eventsUpTo(database), reads: readsOf(aggregates) }
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

/** Names a file forever. */
export const folderOf = (database: Database, fresh: () => string): string =>
  metaOf(database, "folder") ?? keepMeta(database, "folder", fresh())

/** Refuses to take a part of a log that others write for the whole. */
export function refuseNode(database: Database): void {
  if (metaOf(database, "follows") !== undefined) throw partError()
}

/** From now on the file has a part of that log. */
export function belong(database: Database, { id }: Pick<SharedLog, "id">): void {
  if (metaOf(database, "follows") !== undefined) return
  keepMeta(database, "pruned", "0")
  keepMeta(database, "follows", id)
}

export const metaOf = (database: Database, key: string): string | undefined =>
  database.query<{ value: string }, [string]>("SELECT value FROM meta WHERE key = ?").get(key)
    ?.value

export function keepMeta(database: Database, key: string, value: string): string {
  const insert = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING"
  database.query<unknown, [string, string]>(insert).run(key, value)
  return value
}

/** In one statement: who asks the log for something else waits no longer than one takes. */
const usesMax = 200

/** Those that wait go together, one statement after the other. */
export function spenderOf(
  { spendOnce }: Pick<SharedLog, "spendOnce">,
  clock: Clock,
): Node["spendOnce"] {
  let waiting: Spending[] = []
  const spend = async (some: readonly Spending[]) => {
    const uses = some.map(({ use }) => use)
    const firsts = await spendOnce(uses, clock.now())
    for (const [at, { resolve }] of some.entries()) resolve(firsts[at] === true)
  }
  let isSending = false
  const send = async () => {
    isSending = true
    while (waiting.length > 0) {
      const all = waiting
      waiting = []
      try {
        for (let at = 0; at < all.length; at += usesMax) await spend(all.slice(at, at + usesMax))
      } catch (cause) {
        // Those behind would wait in vain; to those that were answered this is nothing.
        for (const { reject } of all) reject(cause)
      }
    }
    isSending = false
  }
  return (what, until) => {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    if (waiting.length === 0 && !isSending) setImmediate(() => void send())
    waiting.push({ use: { what, until }, resolve, reject })
    return promise
  }
}

type Spending = {
  readonly use: Use
  readonly resolve: (first: boolean) => void
  readonly reject: (cause: unknown) => void
}

/** Follows the log that was joined. */
export function nodeOn(
  parts: Joined &
    Omit<PruneParts, "shared"> &
    Pick<FollowingParts, "faultOf"> & { readonly local: SqliteLog },
): { readonly log: FollowingLog; readonly node: Node; readonly drops: SharedDrops } {
  const { database, shared, local, views } = parts
  const follower = followerOf({ database, local, shared, forget: forgetting(parts) })
  const log = followingLog({ ...parts, follower, reduce: views.apply })
  let standing: readonly NodeStanding[] = []
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
      spendOnce: spenderOf(shared, parts.clock),
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
      // As far as the file has come: what is known in memory alone is asked for again.
      trim: (limit) => shared.trim(placeOf(database), limit),
    },
  }
}

const ownLogError = () =>
  new Fault(
    "failed_precondition",
    "start.log_own",
    "this data folder has a log of its own, and the setting database names one in PostgreSQL; " +
      "nothing was changed. Leave the setting out, or start with an empty folder",
  )

const partError = () =>
  new Fault(
    "failed_precondition",
    "start.log_elsewhere",
    "this data folder has a part of a log that is in PostgreSQL; nothing was changed. Name the " +
      "database with the setting database",
  )
