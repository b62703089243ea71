import type { BlobChange, ClaimChange, Envelope, Erasure } from "../event.ts"

/** An event as stored: its payloads have the revision in which they were written. */
export type LogEvent = Envelope & {
  readonly type: string
  readonly data: object
  readonly private: object | null
  readonly erase: Erasure | null
}

/** An event to append; the log assigns its position. */
export type NewEvent = Omit<LogEvent, "position"> & {
  /** Written instead while some node can't read the current revision. */
  readonly before?: Pick<LogEvent, "revision" | "data" | "private">
}

export type Expectation = {
  readonly stream: string
  readonly id: string
  /** 0 if the stream must not exist yet. */
  readonly version: number
}

/** The state of a stream after a transaction, as the decision has already folded it. */
export type FoldedStream = {
  readonly stream: string
  readonly id: string
  /** The version of the last event in the state. */
  readonly version: number
  readonly state: unknown
  readonly created: number
  readonly owner: string
}

export type ClaimRequest = ClaimChange & { readonly stream: string; readonly id: string }

export type BlobRequest = BlobChange & { readonly stream: string; readonly id: string }

/**
 * Whether the caller continues before the transaction is synced ("later"): it is then committed
 * with the next one that a caller waits for, or alone a moment later.
 */
export type CommitPace = "now" | "later"

/** A transaction in one instance, applied completely or not at all. */
export type Append = {
  readonly instance: string
  readonly time: number
  readonly expect: readonly Expectation[]
  readonly events: readonly NewEvent[]
  readonly claims: readonly ClaimRequest[]
  readonly blobs?: readonly BlobRequest[]
  /** The time in the newest generated ID; stored so that no ID is generated twice. */
  readonly idTime?: number
  /** For each stream with events; if absent, events are folded as they are applied. */
  readonly folded?: readonly FoldedStream[]
  /**
   * The value of `writes` when the decision started. If it is unchanged and nothing had to wait,
   * the expected versions need no check; those of `begun` are enforced by the unique index.
   */
  readonly seen?: number
  /**
   * Of `expect`, the streams that were not looked up, because their IDs were generated in this
   * transaction.
   */
  readonly begun?: readonly StreamName[]
  /** "now" by default, and always in a shared log. */
  readonly pace?: CommitPace
}

type StreamName = { readonly stream: string; readonly id: string }

/** A section of one stream. */
export type StreamWindow = {
  readonly instance: string
  readonly stream: string
  readonly id: string
  /** Only events before this version, or after it with `asc`; undefined for the first page. */
  readonly from?: number | undefined
  /** Only events since this time, ms UTC. */
  readonly since?: number | undefined
  readonly asc: boolean
  readonly limit: number
}

/**
 * `conflict`: the stream has another version than expected; decide again on the new state.
 * `position` is that of the last event, or the head if there were no events.
 */
export type AppendResult =
  | { readonly kind: "appended"; readonly position: number }
  | { readonly kind: "conflict"; readonly stream: string; readonly id: string }
  | { readonly kind: "taken"; readonly claim: ClaimChange }

/**
 * The event log: ordered and shared, the single source of truth. There are two implementations with
 * one conformance suite. `append` resolves when the transaction is synced; `read` only returns
 * durable events.
 */
export type Log = {
  readonly append: (step: Append) => Promise<AppendResult>
  /** Events after `position` in order, at most `limit`. Throws on a damaged event, naming it. */
  readonly read: (position: number, limit: number) => Promise<readonly LogEvent[]>
  /**
   * Of at least the next `limit` events after `position`, those of some types, and the position up
   * to which they are complete; `position` itself if nothing was added. Other events are skipped
   * without being read.
   */
  readonly find: (
    position: number,
    limit: number,
    types: readonly string[],
  ) => Promise<{ readonly events: readonly LogEvent[]; readonly upTo: number }>
  /** Durable events of one stream, forward from the first or backward from the newest. */
  readonly history: (window: StreamWindow) => Promise<readonly LogEvent[]>
  /** The events at some positions, in their order; missing ones are left out. */
  readonly at: (positions: readonly number[]) => Promise<readonly LogEvent[]>
  /** Resolves when everything written before this call is synced. */
  readonly settle: () => Promise<void>
  /** The position up to which everything is synced. */
  readonly durable: () => number
  /**
   * Increases when a transaction is synced, and when visible ones were rolled back: values computed
   * from rows are valid while this number is unchanged.
   */
  readonly changes: () => number
  /**
   * The same for some streams with their claims, or for some event types: increases when a
   * transaction has written one, even before the sync, and on rollbacks.
   */
  readonly changesOf: (streamsOrTypes: readonly string[]) => number
  /** Increases with every transaction, even before the sync, and on rollbacks. */
  readonly writes: () => number
  /** The holder of a claim that has not expired at `time`. */
  readonly holder: (
    instance: string,
    kind: string,
    key: string,
    time: number,
  ) => { readonly stream: string; readonly id: string } | undefined
  /** The stored bytes; undefined if they are removed. Throws on damaged ones, naming them. */
  readonly blob: (blobKey: BlobLocation) => Uint8Array<ArrayBuffer> | undefined
  readonly close: () => Promise<void>
}

/** The key of a blob. */
export type BlobLocation = {
  readonly instance: string
  readonly stream: string
  readonly id: string
  readonly name: string
}

/**
 * Called for each event in position order, in the transaction that appends it. An exception rolls
 * back the whole transaction.
 */
export type ApplyEvent = (event: LogEvent, folded?: readonly FoldedStream[]) => void
