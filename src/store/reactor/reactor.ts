import type { AnyEvent, PersistedEvent } from "../event.ts"
import type { LogEvent } from "../log/log.ts"
import type { Store } from "../store.ts"

/**
 * Work with external effects, which must not happen inside a transaction: mail, webhooks, logout
 * requests. Called at least once for each event, in order, after it is synced; `key` is the same
 * for every attempt, so that the receiver can detect duplicates.
 */
export type Reactor = {
  readonly name: string
  /** Where a new reactor starts: at the first event (the default), or now. */
  readonly from?: "first" | "now"
  readonly on: Readonly<
    Record<string, (event: PersistedEvent<AnyEvent>, key: string) => Promise<void>>
  >
  /** The types in `on` that are currently needed, if that depends on stored data. */
  readonly types?: () => readonly string[]
  /** Number of events handled at once, then without order; 1 by default. */
  readonly parallel?: number
  /** Work that it has postponed. */
  readonly due?: DueWork
}

/** An item of an instance that is due. */
export type DueItem = { readonly instance: string; readonly id: string }

/** Postponed work, polled every second on the working node. */
export type DueWork = {
  /** The items due at `now`, ms UTC; may include running ones. */
  readonly find: (store: Store, now: number) => readonly DueItem[]
  /** Runs an item, and makes sure that it is no longer due, or due later. */
  readonly run: (item: DueItem) => Promise<void>
}

/**
 * An event that a reactor has skipped. It is retried for half a day with growing pauses, and stays
 * here until that succeeds or it is removed.
 */
export type FailedEvent = {
  readonly reactor: string
  readonly position: number
  readonly instance: string
  readonly failures: number
  readonly error: string
  /** When it last failed, ms UTC; 0 if an immediate retry is requested. */
  readonly last: number
}

export type ReactorStatus = {
  readonly name: string
  readonly position: number
  readonly failed: number
}

export type Reactors = {
  /** Works until nothing is left; for tests and shutdown. */
  readonly drain: () => Promise<void>
  readonly failed: () => readonly FailedEvent[]
  /** Retries a failed event; true if that succeeds, which removes it from the list. */
  readonly retry: (reactor: string, position: number) => Promise<boolean>
  readonly remove: (reactor: string, position: number) => Promise<void>
  /** The position that all reactors have passed; infinite without reactors. */
  readonly passedPosition: () => number
  /** The position of each reactor, and the number of its failed events. */
  readonly standing: () => readonly ReactorStatus[]
  readonly stop: () => Promise<void>
}

/** Callbacks for problems of reactors. */
export type ReactorCallbacks = {
  /** A reactor is blocked by an unreadable event or a full disk. It keeps trying. */
  readonly onBlocked?: (reactor: string, cause: unknown) => void
  /** A blocked reactor continues. */
  readonly onUnblocked?: (reactor: string) => void
  /** The first attempts at an event failed: it is now a failed event, and retried later. */
  readonly onPostponed?: (reactor: string, event: LogEvent, error: string) => void
  /** A due item failed unexpectedly; it is retried. */
  readonly onDueFailed?: (reactor: string, item: DueItem, error: string) => void
  /** Whether this node runs the reactors; other nodes stay idle. */
  readonly isLeader?: () => boolean
}

export const alwaysLeads = () => true
