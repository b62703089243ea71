import type { BlobChange, ClaimChange, Envelope, Erasure } from "../event.ts"

/** An event as the log keeps it: payloads of the revision they were written in. */
export type LogEvent = Envelope & {
  readonly type: string
  readonly data: object
  readonly private: object | null
  readonly erase: Erasure | null
}

/** An event to append; the log gives it its position. */
export type NewEvent = Omit<LogEvent, "position"> & {
  /** What is written instead while some node can't read the revision. */
  readonly before?: Pick<LogEvent, "revision" | "data" | "private">
}

export type Expectation = {
  readonly stream: string
  readonly id: string
  /** 0 where the stream must not exist yet. */
  readonly version: number
}

/** Where a stream stands after a step, as the decision has folded it already. */
export type Folded = {
  readonly stream: string
  readonly id: string
  /** Of the last event that the state has in it. */
  readonly version: number
  readonly state: unknown
  readonly created: number
  readonly owner: string
}

export type ClaimRequest = ClaimChange & { readonly stream: string; readonly id: string }

export type BlobRequest = BlobChange & { readonly stream: string; readonly id: string }

/**
 * Whether whoever asks goes on before a step is on disk: it is then committed with the next one for
 * which somebody waits, or by itself a moment later.
 */
export type Pace = "now" | "later"

/** One step of one instance: all of it happens, or nothing. */
export type Append = {
  readonly instance: string
  readonly time: number
  readonly expect: readonly Expectation[]
  readonly events: readonly NewEvent[]
  readonly claims: readonly ClaimRequest[]
  readonly blobs?: readonly BlobRequest[]
  /** The time within the newest id that was made so far; kept, so that none is made twice. */
  readonly idTime?: number
  /** Of each stream with events; where it is absent, they are folded as they are applied. */
  readonly folded?: readonly Folded[]
  /**
   * What `writes` said when the decision began. Where it still does, and nobody had to wait, the
   * expectations hold and need not be looked at; those of `begun` the events themselves hold to.
   */
  readonly seen?: number
  /** Of `expect`, what was not looked at: the ids of these streams were made for the step. */
  readonly begun?: readonly StreamName[]
  /** "now" where it is absent, and in a log that others write, too. */
  readonly pace?: Pace
}

type StreamName = { readonly stream: string; readonly id: string }

/** A part of one stream. */
export type StreamWindow = {
  readonly instance: string
  readonly stream: string
  readonly id: string
  /** Only what came before this version, or after it where `asc`; undefined for the first part. */
  readonly from?: number | undefined
  /** Only what happened since then, ms UTC. */
  readonly since?: number | undefined
  readonly asc: boolean
  readonly limit: number
}

/**
 * `conflict`: an expected version is no longer the stream's; decide again on newer state.
 * `position` is that of the last event, or the head where the step had none.
 */
export type Appended =
  | { readonly kind: "appended"; readonly position: number }
  | { readonly kind: "conflict"; readonly stream: string; readonly id: string }
  | { readonly kind: "taken"; readonly claim: ClaimChange }

/**
 * The ordered, shared truth. Two implementations stand behind this type and one conformance suite
 * holds for both. `append` resolves when the step is on disk; `read` shows durable events only.
 */
export type Log = {
  readonly append: (step: Append) => Promise<Appended>
  /** Events after `position` in order, at most `limit`. A damaged event is refused by name. */
  readonly read: (position: number, limit: number) => Promise<readonly LogEvent[]>
  /**
   * Of at least the next `limit` events after `position` those of some types, and the position up
   * to which they are all; that is `position` itself where nothing came since. What nobody asked
   * for is passed over without being read.
   */
  readonly find: (
    position: number,
    limit: number,
    types: readonly string[],
  ) => Promise<{ readonly events: readonly LogEvent[]; readonly upTo: number }>
  /** Events of one stream, from its first on or from its newest back; durable ones only. */
  readonly history: (window: StreamWindow) => Promise<readonly LogEvent[]>
  /** The events at some positions, in the order of these; of those that are gone nothing. */
  readonly at: (positions: readonly number[]) => Promise<readonly LogEvent[]>
  /** Resolves when everything written before this call is on disk. */
  readonly settle: () => Promise<void>
  /** The position up to which everything is on disk. */
  readonly durable: () => number
  /**
   * Grows when a step is on disk, and when steps that others may already have read had to be
   * undone: what was computed from rows holds as long as this number does.
   */
  readonly changes: () => number
  /**
   * The same for streams of some kinds with the claims that they hold, or for events of some types:
   * grows when a step has written one, on disk or not yet, and when steps were undone.
   */
  readonly changesOf: (streamsOrTypes: readonly string[]) => number
  /** Grows with every step that is written, on disk or not yet, and when steps were undone. */
  readonly writes: () => number
  /** Holder of a claim that has not expired at `time`. */
  readonly holder: (
    instance: string,
    kind: string,
    key: string,
    time: number,
  ) => { readonly stream: string; readonly id: string } | undefined
  /** Bytes as they were put; undefined where they are gone. Damaged ones are refused by name. */
  readonly blob: (at: BlobPlace) => Uint8Array<ArrayBuffer> | undefined
  readonly close: () => Promise<void>
}

/** Where bytes are kept. */
export type BlobPlace = {
  readonly instance: string
  readonly stream: string
  readonly id: string
  readonly name: string
}

/**
 * Called for each event in position order, in the step that appends it. What it throws makes the
 * whole step undone.
 */
export type Apply = (event: LogEvent, folded?: readonly Folded[]) => void
