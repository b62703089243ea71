import type { Database } from "bun:sqlite"
import type { Fault } from "../kernel/fault.ts"
import type { Transaction } from "./aggregate.ts"
import type { Log } from "./log/log.ts"
import type { Horizon } from "./retention/horizon.ts"
import type { PruneLimits, PruneResult } from "./retention/prune.ts"
import type { PurgeLimits } from "./retention/purge.ts"
import type { Reader } from "./search/reader.ts"
import type { NodeStatus, SharedLog } from "./shared/shared-log.ts"
import type { States } from "./state/state.ts"
import type { InspectionOptions } from "./view/inspection.ts"
import type { ReadViews } from "./view/views.ts"
import type { Writer } from "./worker/writer.ts"

/** Runs writes that bypass the log. */
export type Exclusive = <T>(work: () => T) => Promise<T>

/** Maintenance of the whole store, scheduled or by operators. */
export type StoreMaintenance = {
  /** Prunes expired data: whole streams with everything derived from them, and claims. */
  readonly prune: (limits: PruneLimits) => Promise<PruneResult>
  /** Deletes all data of a removed instance; returns the number of rows. */
  readonly purge: (limits: PurgeLimits) => Promise<number>
  /** Removes erased data from all files; called occasionally. */
  readonly scrub: () => Promise<void>
  /** Releases memory used for caching. */
  readonly shrink: () => void
  /** Runs a write that is not an event, when other writes are not paused. */
  readonly exclusive: Exclusive
  /** Writes a little test data; throws the disk's error. */
  readonly probe: () => Promise<void>
  /**
   * Checks all stored data in the background, with pauses, and returns the first damage. Throws if
   * the check itself fails.
   */
  readonly inspect: (options: InspectionOptions) => Promise<Fault | undefined>
  readonly close: () => Promise<void>
}

/** The components of a store. */
export type StoreParts = StoreMaintenance & {
  readonly log: Log
  readonly database: Database
  readonly states: States
  readonly views: ReadViews
  readonly faultOf: (cause: unknown) => Fault | undefined
  readonly isForgotten: Horizon["isForgotten"]
  readonly reader: Reader
  /** Commits the open group. */
  readonly flush: () => void
  /** Resolves when the open group is committed; undefined if there is none. */
  readonly pending?: () => Promise<void> | undefined
  /** A condition for the first transaction. */
  readonly check?: ((tx: Transaction) => void) | undefined
  /** Set on one of several nodes. */
  readonly node?: Node | undefined
  /** Set in a worker process, which reads a file that another process writes. */
  readonly worker?: ReadingWorker | undefined
  /** Set if several processes serve from the same file. */
  readonly together?: SharedProcesses | undefined
}

/** Shared state of processes that serve from the same file. */
export type SharedProcesses = Pick<Writer, "spendOnce">

/** A process that reads a file which another one writes. */
export type ReadingWorker = {
  readonly writer: Writer
  /** The number of the worker, from 1. */
  readonly part: number
  /** Makes everything currently in the file visible. */
  readonly renew: () => void
  /** Resolves when no search is running; the returned function allows new ones. */
  readonly rest: () => Promise<() => void>
  /** Makes requests wait before they read; the returned function lets them continue. */
  readonly hold: () => () => void
  /** Resolves when requests no longer have to wait; undefined if they don't. */
  readonly held: () => Promise<void> | undefined
}

/** One of several nodes that share a log. */
export type Node = {
  /** Resolves when this node has everything that the log had at the time of the call. */
  readonly caughtUp: () => Promise<void>
  /** Milliseconds since it last read the head of the log. */
  readonly unseen: () => number
  /** Why following the log fails; undefined while it works. */
  readonly lost: () => unknown
  /** The number of the node, 0–255. */
  readonly part: number
  /** The time in the newest ID of any node when this one joined, ms UTC. */
  readonly idTime: number
  readonly keys: SharedLog["keys"]
  readonly reached: SharedLog["reached"]
  readonly lease: SharedLog["lease"]
  readonly failures: SharedLog["failures"]
  readonly failed: SharedLog["failed"]
  readonly unfailed: SharedLog["unfailed"]
  readonly failedAgain: SharedLog["failedAgain"]
  /** Whether this is the first use of something that can be used once until a time in ms UTC. */
  readonly spendOnce: (usedKey: string, until: number) => Promise<boolean>
  /** Reports this node's position, and returns the status of all nodes and the leader. */
  readonly nodes: () => Promise<readonly NodeStatus[]>
  /** The last result of `nodes`. */
  readonly standing: () => readonly NodeStatus[]
}
