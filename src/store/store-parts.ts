import type { Database } from "bun:sqlite"
import type { Fault } from "../kernel/fault.ts"
import type { Transaction } from "./aggregate.ts"
import type { Log } from "./log/log.ts"
import type { Horizon } from "./retention/horizon.ts"
import type { Pruned, PruneLimits } from "./retention/prune.ts"
import type { PurgeLimits } from "./retention/purge.ts"
import type { Reader } from "./search/reader.ts"
import type { NodeStanding, SharedLog } from "./shared/shared-log.ts"
import type { States } from "./state/state.ts"
import type { Inspecting } from "./view/inspection.ts"
import type { ReadViews } from "./view/views.ts"
import type { Writer } from "./worker/writer.ts"

/** Runs what writes without the log. */
export type Exclusive = <T>(work: () => T) => Promise<T>

/** What is done to the whole of a store, now and then or by those who run it. */
export type Upkeep = {
  /** Drops what has expired: streams whole, with all that was made of them, and claims. */
  readonly prune: (limits: PruneLimits) => Promise<Pruned>
  /** Takes away all that a removed instance had; answers how much that was. */
  readonly purge: (limits: PurgeLimits) => Promise<number>
  /** Leaves no bytes of what has been erased in any file; called now and then. */
  readonly scrub: () => Promise<void>
  /** Gives back the memory that is kept for what may be read or written next. */
  readonly shrink: () => void
  /** Writes something that is no step: when nobody keeps others from writing. */
  readonly exclusive: Exclusive
  /** Writes a little that nobody needs; throws what the disk says to it. */
  readonly probe: () => Promise<void>
  /**
   * Looks through all that is kept, in the background, with pauses, and answers the first damage
   * that it finds. What else keeps it from looking is thrown.
   */
  readonly inspect: (how: Inspecting) => Promise<Fault | undefined>
  readonly close: () => Promise<void>
}

/** What a store is made of. */
export type StoreParts = Upkeep & {
  readonly log: Log
  readonly database: Database
  readonly states: States
  readonly views: ReadViews
  readonly faultOf: (cause: unknown) => Fault | undefined
  readonly isForgotten: Horizon["isForgotten"]
  readonly reader: Reader
  /** Commits what the open group commit has written so far. */
  readonly flush: () => void
  /** Nothing, or what resolves when the open group commit has been committed. */
  readonly pending?: () => Promise<void> | undefined
  /** What must hold for the first step. */
  readonly check?: ((tx: Transaction) => void) | undefined
  /** What only one of several nodes has. */
  readonly node?: Node | undefined
  /** What only a process has that reads a file which another one writes. */
  readonly worker?: ReadingWorker | undefined
  /** What a process has that others read beside. */
  readonly together?: Together | undefined
}

/** One of several processes that answer from the same file. */
export type Together = Pick<Writer, "spendOnce">

/** A process that reads a file which another one writes. */
export type ReadingWorker = {
  readonly writer: Writer
  /** Which of them, from 1 on. */
  readonly part: number
  /** From now on what is in the file by then is seen. */
  readonly renew: () => void
  /** Resolves when no search is under way, with what lets others begin. */
  readonly rest: () => Promise<() => void>
  /** Has requests wait before they read anything; answers what lets them go on. */
  readonly hold: () => () => void
  /** Nothing, or what resolves when requests need wait no longer. */
  readonly held: () => Promise<void> | undefined
}

/** One of several nodes, which share a log. */
export type Node = {
  /** Resolves when this node has all that the log had when it was asked. */
  readonly caughtUp: () => Promise<void>
  /** For how long it has not seen the end of the log, in ms. */
  readonly unseen: () => number
  /** Why the log can't be followed now; undefined where it can. */
  readonly lost: () => unknown
  /** Which of them, 0–255. */
  readonly part: number
  /** The time within the newest id that any of them had used when this one joined, ms UTC. */
  readonly idTime: number
  readonly keys: SharedLog["keys"]
  readonly reached: SharedLog["reached"]
  readonly lease: SharedLog["lease"]
  readonly failures: SharedLog["failures"]
  readonly failed: SharedLog["failed"]
  readonly unfailed: SharedLog["unfailed"]
  readonly failedAgain: SharedLog["failedAgain"]
  /** Whether something that counts once, until a time in ms UTC, is used for the first time. */
  readonly spendOnce: (what: string, until: number) => Promise<boolean>
  /** Says where this one stands, and answers where all do, and which of them works. */
  readonly nodes: () => Promise<readonly NodeStanding[]>
  /** What it answered last. */
  readonly standing: () => readonly NodeStanding[]
}
