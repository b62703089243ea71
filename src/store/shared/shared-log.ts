import type { Append, LogEvent } from "../log/log.ts"

/**
 * How far a node has come: the position of the newest event that it has, and the number of the
 * newest change beside the events.
 */
export type Place = {
  readonly position: number
  readonly number: number
  /** Of the log, see `Head`; 0 where nobody noted it. */
  readonly epoch: number
  /** Absent where the log had no checksum chain yet. */
  readonly mark?: Mark | undefined
}

/**
 * A link of the log's checksum chain: the write that wrote the last of what a node has. A log that
 * doesn't contain it has another history than the node.
 */
export type Mark = {
  readonly position: number
  readonly number: number
  readonly sum: string
}

/** The error of a node whose history is not that of the log; it answers nothing at all. */
export const otherHistory = "store.database_differs"

/** Where the log ends, at one moment. */
export type Head = Pick<Place, "position" | "number"> & {
  /** By the database's clock, ms UTC. */
  readonly time: number
  /**
   * Whether the log goes on as it was when it was last read. Where another server has taken the
   * database over, it may have lost some of its end: then an epoch begins, and each node looks
   * whether it has more than there was at that moment. The same where its checksum chain doesn't
   * contain the link that this node is in.
   */
  readonly isSame: boolean
}

/** One of the nodes, as the log knows it; `ms` are by the database's clock, at this moment. */
export type NodeStanding = {
  readonly part: number
  readonly isSelf: boolean
  readonly seenMs: number
  readonly position: number
  /** So many events the log has beyond that. */
  readonly behind: number
  readonly leads: boolean
  /** Of its program; empty where it does not say. */
  readonly version: string
}

/** An event that a reactor went on without, and how often it failed. */
export type SharedFailure = {
  readonly reactor: string
  readonly position: number
  readonly instance: string
  readonly failures: number
  readonly error: string
  readonly last: number
}

/** Which failed events are meant; what is absent may be anything. */
export type FailedSelection = {
  readonly instance?: string | undefined
  readonly reactor?: string | undefined
  readonly position?: number | undefined
}

/** Something that counts once until a time, ms UTC. */
export type Use = { readonly what: string; readonly until: number }

/**
 * What a step changed beside its events. It happened after the event at `position` and before the
 * next one. A claim that was released is told by its number: its key may be personal, and stays
 * nowhere once nobody holds it.
 */
export type Change = {
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
  /** The whole stream is as if it had never been. */
  | ({ readonly kind: "forget" } & Expired)
)

export type StreamName = {
  readonly instance: string
  readonly stream: string
  readonly id: string
}

/** A stream that may go since a time, ms UTC. */
export type Expired = StreamName & { readonly expires: number }

export type BlobName = StreamName & { readonly name: string }

/** A part of the log, as it stood at one moment. */
export type Page = {
  readonly events: readonly LogEvent[]
  readonly changes: readonly Change[]
  /** What comes next begins after this. */
  readonly upTo: Place
  /** Where the log ended at that moment. */
  readonly head: Pick<Place, "position" | "number">
}

/** What became of a step; of one that was taken the index of the claim. */
export type Outcome =
  | { readonly kind: "appended"; readonly position: number }
  | { readonly kind: "conflict"; readonly stream: string; readonly id: string }
  | { readonly kind: "taken"; readonly claim: number }
  /** Not all nodes can read this type of event as it was to be written. */
  | { readonly kind: "early"; readonly type: string }
  /** The log can't keep what this one says; the others know nothing of it. */
  | { readonly kind: "refused"; readonly cause: unknown }

/** A stream that may go, as it stood when that was decided. */
export type Dropping = Expired & { readonly version: number }

/** A data key as it is kept: wrapped by the master key, which no database ever sees. */
export type WrappedKey = {
  readonly id: string
  readonly purpose: string
  readonly wrapped: string
  readonly active: boolean
}

/**
 * The log that several nodes share. Whoever calls is one node, whose place no other process has.
 * Each function faults with `unavailable` when the log can't be reached in time.
 */
export type SharedLog = {
  /** Names the log: a node's own file belongs to one. */
  readonly id: string
  /** Which of the nodes this is, 0–255; part of every id that it makes. */
  readonly part: number
  /** The time within the newest id that any node had used when this one joined, ms UTC. */
  readonly idTime: number
  /**
   * Takes steps in their order, each wholly or not at all, in one transaction. Versions and claims
   * are checked there. A batch that was sent twice, because nobody knew what had become of it,
   * happens once. The page is what came after `after`, the batch with it.
   */
  readonly append: (
    steps: readonly Append[],
    after: Place,
  ) => Promise<{ readonly outcomes: readonly Outcome[]; readonly page: Page }>
  readonly read: (after: Place) => Promise<Page>
  /** Answers soon, or faults: whoever asks waits with an answer for somebody. */
  readonly head: (after: Place) => Promise<Head>
  /**
   * Notes uses of what may be used once; of each, whether it was the first. What counts no more at
   * `now`, ms UTC, may be forgotten.
   */
  readonly spendOnce: (uses: readonly Use[], now: number) => Promise<readonly boolean[]>
  readonly blob: (name: BlobName) => Promise<Uint8Array<ArrayBuffer> | undefined>
  /** Drops streams whole, but those to which somebody has added since; answers how many events. */
  readonly drop: (streams: readonly Dropping[]) => Promise<number>
  /** Drops claims that expired before a time, ms UTC; answers how many, at most `limit`. */
  readonly dropClaims: (before: number, limit: number) => Promise<number>
  /** Takes away rows of an instance, but the streams of one kind; answers how many. */
  readonly purge: (instance: string, keep: string, limit: number) => Promise<number>
  /**
   * Says how far this node has come, and drops notes of what went that every node of the last week
   * has; answers how many, at most `limit`. Called now and then.
   */
  readonly trim: (place: Place, limit: number) => Promise<number>
  /** Keeps keys of purposes that have none yet; answers all that there are. */
  readonly keys: (offered: readonly WrappedKey[]) => Promise<readonly WrappedKey[]>
  /** Up to where reactors have come, by their names; none goes back. */
  readonly reached: (positions: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, number>>
  /** What reactors have gone on without. */
  readonly failures: () => Promise<readonly SharedFailure[]>
  /** Counts one more failure of an event. */
  readonly failed: (failure: Omit<SharedFailure, "failures">) => Promise<void>
  readonly unfailed: (of: Pick<SharedFailure, "reactor" | "position">) => Promise<void>
  /** Has failures tried again at once by the node that works; what is absent may be anything. */
  readonly failedAgain: (which: FailedSelection) => Promise<void>
  /** Notes how far this node has come, and answers where all of the last day stand. */
  readonly nodes: (place: Place, lease: string) => Promise<readonly NodeStanding[]>
  /**
   * Takes what one node at a time may have, for so many ms from now, or keeps it; 0 gives it back.
   * False where another node has it.
   */
  readonly lease: (name: string, ms: number) => Promise<boolean>
  /**
   * Calls `wake` when something is written, by whomever, with the position up to which; 0 where
   * nobody knows. May miss some, so look now and then.
   */
  readonly listen: (wake: (position: number) => void) => Promise<void>
  readonly close: () => Promise<void>
}
