import type { AnyEvent, Recorded } from "../event.ts"
import type { LogEvent } from "../log/log.ts"
import type { Store } from "../store.ts"

/**
 * What must not happen inside a transaction: mail, webhooks, logout calls. Called at least once
 * for each event, in order, after it is on disk; `key` is the same for every try of one event, so
 * that the other side can tell a repetition.
 */
export type Reactor = {
  readonly name: string
  /** Where one begins that is new to a log: at its first event (that is so unless told), or now. */
  readonly from?: "first" | "now"
  readonly on: Readonly<Record<string, (event: Recorded<AnyEvent>, key: string) => Promise<void>>>
  /** Of the types in `on` those that are wanted just now, where that depends on what is written. */
  readonly types?: () => readonly string[]
  /** How many events may be under way at once, in no order then; one unless said. */
  readonly parallel?: number
  /** What it has put off until a time. */
  readonly due?: DueWork
}

/** Something of an instance that is due. */
export type DueItem = { readonly instance: string; readonly id: string }

/** Work that waits for a time: looked for every second on the node that works. */
export type DueWork = {
  /** What is due at `now`, ms UTC; what is under way may be among it. */
  readonly find: (store: Store, now: number) => readonly DueItem[]
  /** Does it, and sees to it that it is due no more, or later. */
  readonly run: (item: DueItem) => Promise<void>
}

/**
 * An event that a reactor went on without. It is tried again for half a day, ever more seldom, and
 * kept here until that works, or somebody removes it.
 */
export type FailedEvent = {
  readonly reactor: string
  readonly position: number
  readonly instance: string
  readonly failures: number
  readonly error: string
  /** When it failed last, ms UTC; 0 while it is to be tried again at once. */
  readonly last: number
}

export type ReactorStanding = {
  readonly name: string
  readonly position: number
  readonly failed: number
}

export type Reactors = {
  /** Works until nothing is left to do; tests and shutdown await it. */
  readonly drain: () => Promise<void>
  readonly failed: () => readonly FailedEvent[]
  /** Tries a failed event again; true when it worked, and it is then off the list. */
  readonly retry: (reactor: string, position: number) => Promise<boolean>
  readonly remove: (reactor: string, position: number) => Promise<void>
  /** The position that all of them have passed; beyond everything where there are none. */
  readonly passed: () => number
  /** Where each of them stands, and how many events it has gone on without. */
  readonly standing: () => readonly ReactorStanding[]
  readonly stop: () => Promise<void>
}

/** What reactors tell of what does not work. */
export type Troubles = {
  /** One can't go on: it met an event that can't be read, or the disk is full. It tries again. */
  readonly stuck?: (reactor: string, cause: unknown) => void
  /** It goes on. */
  readonly freed?: (reactor: string) => void
  /** The first tries with an event have failed: it is a failed event now, and tried again later. */
  readonly postponed?: (reactor: string, event: LogEvent, error: string) => void
  /** What was due has failed for a reason that nobody expected; it is tried again. */
  readonly dueFailed?: (reactor: string, item: DueItem, error: string) => void
  /** Whether it is this node that works; others keep still until they are asked to. */
  readonly leads?: () => boolean
}

export const always = () => true
