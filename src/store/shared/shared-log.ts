import type { Append, LogEvent } from "../log/log.ts"

/**
 * A node's position in the log: the position of its newest event, and the number of its newest
 * other change.
 */
export type LogPosition = {
  readonly position: number
  readonly number: number
  /** The epoch of the log, see `Head`; 0 if unknown. */
  readonly epoch: number
  /** Absent if the log has no checksum chain yet. */
  readonly mark?: ChainLink | undefined
}

/**
 * A link of the log's checksum chain: the write that produced the newest data of a node. A log
 * without it has a different history than the node.
 */
export type ChainLink = {
  readonly position: number
  readonly number: number
  readonly sum: string
}

/** The fault ID of a node whose history differs from the log; it answers no requests. */
export const historyDiffersId = "store.database_differs"

/** The head of the log at one moment. */
export type LogHead = Pick<LogPosition, "position" | "number"> & {
  /** The database clock, ms UTC. */
  readonly time: number
  /**
   * Whether the log continues as when it was last read. If another server has taken over the
   * database, it may have lost the end of the log: then a new epoch starts, and each node checks
   * whether it has more than was left. Also false if the checksum chain does not contain this
   * node's link.
   */
  readonly isSame: boolean
}

/** A node as known to the log; `seenMs` is relative to the current time of the database clock. */
export type NodeStatus = {
  readonly part: number
  readonly isSelf: boolean
  readonly seenMs: number
  readonly position: number
  /** The number of events that it does not have yet. */
  readonly behind: number
  readonly leads: boolean
  /** The version of its program; empty if unknown. */
  readonly version: string
}

/** A failed event of a reactor, and the number of failures. */
export type SharedFailure = {
  readonly reactor: string
  readonly position: number
  readonly instance: string
  readonly failures: number
  readonly error: string
  readonly last: number
}

/** Selects failed events; absent criteria match everything. */
export type FailedSelection = {
  readonly instance?: string | undefined
  readonly reactor?: string | undefined
  readonly position?: number | undefined
}

/** Something that can be used once until a time, ms UTC. */
export type OneTimeUse = { readonly what: string; readonly until: number }

/**
 * A change other than an event, made after the event at `position` and before the next one. A
 * released claim is identified by its number: its key may be personal data, and is not stored after
 * the release.
 */
export type LogChange = {
  readonly number: number
  readonly position: number
} & (
  | {
      readonly kind: "take"
      readonly instance: string
      readonly claim: string
      readonly key: string
      readonly stream: string
      readonly id: string
      readonly expires: number | null
    }
  | { readonly kind: "release"; readonly of: number }
  | ({ readonly kind: "put" } & BlobName)
  | ({ readonly kind: "drop" } & BlobName)
  /** The whole stream is treated as if it had never existed. */
  | ({ readonly kind: "forget" } & ExpiredStream)
)

export type StreamName = {
  readonly instance: string
  readonly stream: string
  readonly id: string
}

/** A stream that may be removed since a time, ms UTC. */
export type ExpiredStream = StreamName & { readonly expires: number }

export type BlobName = StreamName & { readonly name: string }

/** A section of the log at one moment. */
export type LogPage = {
  readonly events: readonly LogEvent[]
  readonly changes: readonly LogChange[]
  /** The next section starts after this. */
  readonly upTo: LogPosition
  /** The head of the log at that moment. */
  readonly head: Pick<LogPosition, "position" | "number">
}

/** The outcome of a transaction; for a taken claim its index. */
export type AppendOutcome =
  | { readonly kind: "appended"; readonly position: number }
  | { readonly kind: "conflict"; readonly stream: string; readonly id: string }
  | { readonly kind: "taken"; readonly claim: number }
  /** Some node can't read this event type in its current revision. */
  | { readonly kind: "early"; readonly type: string }
  /** The log can't store this transaction; others are not affected. */
  | { readonly kind: "refused"; readonly cause: unknown }

/** A stream to remove, with its version at the time of the decision. */
export type StreamRemoval = ExpiredStream & { readonly version: number }

/** A stored data key: wrapped with the master key, which never reaches a database. */
export type WrappedKey = {
  readonly id: string
  readonly purpose: string
  readonly wrapped: string
  readonly active: boolean
}

/**
 * The log that several nodes share. The caller is one node, whose identity no other process has.
 * Each function throws `unavailable` if the log can't be reached in time.
 */
export type SharedLog = {
  /** The ID of the log: a node's file belongs to one log. */
  readonly id: string
  /** The number of this node, 0–255; part of every ID that it generates. */
  readonly part: number
  /** The time in the newest ID of any node when this one joined, ms UTC. */
  readonly idTime: number
  /**
   * Applies transactions in order, each completely or not at all, in one database transaction that
   * checks versions and claims. A batch that is repeated because its outcome was unknown is applied
   * once. The page contains everything after `after`, including the batch.
   */
  readonly append: (
    steps: readonly Append[],
    after: LogPosition,
  ) => Promise<{ readonly outcomes: readonly AppendOutcome[]; readonly page: LogPage }>
  readonly read: (after: LogPosition) => Promise<LogPage>
  /** Responds quickly or throws, because a user's request waits for it. */
  readonly head: (after: LogPosition) => Promise<LogHead>
  /**
   * Records uses of things that can be used once; returns for each whether it was the first. Those
   * expired at `now`, ms UTC, may be forgotten.
   */
  readonly spendOnce: (uses: readonly OneTimeUse[], now: number) => Promise<readonly boolean[]>
  readonly blob: (name: BlobName) => Promise<Uint8Array<ArrayBuffer> | undefined>
  /** Removes streams, except those with later events; returns the number of events. */
  readonly drop: (streams: readonly StreamRemoval[]) => Promise<number>
  /** Removes at most `limit` claims that expired before a time, ms UTC; returns their number. */
  readonly dropClaims: (before: number, limit: number) => Promise<number>
  /** Removes rows of an instance, except the streams of one kind; returns their number. */
  readonly purge: (instance: string, keep: string, limit: number) => Promise<number>
  /**
   * Reports this node's position, and removes up to `limit` change records that every node of the
   * last week has; returns their number. Called occasionally.
   */
  readonly trim: (position: LogPosition, limit: number) => Promise<number>
  /** Stores keys for purposes that have none; returns all keys. */
  readonly keys: (offered: readonly WrappedKey[]) => Promise<readonly WrappedKey[]>
  /** Stores the positions of reactors by name; they never decrease. */
  readonly reached: (positions: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, number>>
  /** The failed events of reactors. */
  readonly failures: () => Promise<readonly SharedFailure[]>
  /** Counts another failure of an event. */
  readonly failed: (failure: Omit<SharedFailure, "failures">) => Promise<void>
  readonly unfailed: (of: Pick<SharedFailure, "reactor" | "position">) => Promise<void>
  /** Lets the leader retry failed events immediately; absent criteria match everything. */
  readonly failedAgain: (selection: FailedSelection) => Promise<void>
  /** Reports this node's position, and returns the status of all nodes of the last day. */
  readonly nodes: (position: LogPosition, lease: string) => Promise<readonly NodeStatus[]>
  /**
   * Acquires or renews an exclusive lease for `ms` milliseconds; 0 releases it. False if another
   * node has it.
   */
  readonly lease: (name: string, ms: number) => Promise<boolean>
  /**
   * Calls `wake` after any write, with the new position; 0 if it is unknown. Notifications can be
   * lost, so poll as well.
   */
  readonly listen: (wake: (position: number) => void) => Promise<void>
  readonly close: () => Promise<void>
}
