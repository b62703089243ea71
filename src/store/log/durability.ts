import { closeSync, fdatasync, openSync } from "node:fs"
import type { Mark, WalPlace } from "./mark.ts"

/** Positions up to which the log is written, and up to which it is on disk. */
export type Durability = {
  /** Notes that a commit has been written, with the head position it left. */
  readonly wrote: (position: number) => void
  /** Resolves when every commit noted so far is on disk. */
  readonly settle: () => Promise<void>
  /** Nothing, or what resolves when the sync that is under way has ended. */
  readonly syncing: () => Promise<void> | undefined
  readonly durable: () => number
  readonly close: () => Promise<void>
}

type Commit = {
  readonly commit: number
  readonly position: number
  readonly place?: WalPlace | undefined
}

type SyncParts = {
  readonly failed: (cause: Error) => void
  /** Is told how far the WAL is on disk, before those who wait for it. */
  readonly mark?: Mark
  readonly sync?: Sync
}

type Sync = (descriptor: number, done: (cause: Error | null) => void) => void

/**
 * One fdatasync of the WAL, off the event loop, shared by all callers that wait: commits that are
 * written while a sync runs wait for the next one. The descriptor lives as long as the process,
 * because closing a file that SQLite has open may drop SQLite's locks. A failed sync means that
 * nobody knows what is on disk (fsyncgate), so `failed` must end the process.
 */
export function sharedSync(
  walFile: string,
  head: number,
  { failed, mark, sync = fdatasync }: SyncParts,
): Durability {
  const descriptor = openSync(walFile, "r")
  let written: Commit = { commit: 0, position: head }
  let safe = written
  let waiting: { commit: number; resolve: () => void }[] = []
  let running: PromiseWithResolvers<void> | undefined

  const round = () => {
    const current = Promise.withResolvers<void>()
    running = current
    const reached = written
    sync(descriptor, (cause) => {
      if (cause) return failed(cause)
      safe = reached
      if (safe.place) mark?.advance(safe.place, safe.position)
      const done = waiting.filter((waiter) => waiter.commit <= safe.commit)
      waiting = waiting.filter((waiter) => waiter.commit > safe.commit)
      running = undefined
      if (waiting.length > 0) round()
      for (const waiter of done) waiter.resolve()
      current.resolve()
    })
  }

  const settle = () => {
    if (safe.commit >= written.commit) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.push({ commit: written.commit, resolve })
    if (!running) round()
    return promise
  }

  return {
    wrote: (position) => {
      written = { commit: written.commit + 1, position, place: mark?.place(descriptor) }
    },
    settle,
    syncing: () => running?.promise,
    durable: () => safe.position,
    close: async () => {
      await settle()
      closeSync(descriptor)
    },
  }
}

/** Where the platform's commit itself reaches the disk (synchronous=FULL). */
export function commitIsDurable(head: number): Durability {
  let position = head
  return {
    wrote: (next) => {
      position = next
    },
    settle: () => Promise.resolve(),
    syncing: () => undefined,
    durable: () => position,
    close: () => Promise.resolve(),
  }
}
