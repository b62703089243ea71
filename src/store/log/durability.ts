import { closeSync, fdatasync, openSync } from "node:fs"
import type { DurabilityMark, WalPosition } from "./mark.ts"

/** Tracks the position up to which the log is written, and up to which it is synced. */
export type Durability = {
  /** Records a commit with its head position. */
  readonly recordCommit: (position: number) => void
  /** Resolves when every commit so far is synced. */
  readonly waitUntilSynced: () => Promise<void>
  /** The current sync; undefined if none is running. */
  readonly currentSync: () => Promise<void> | undefined
  readonly durablePosition: () => number
  readonly close: () => Promise<void>
}

type Commit = {
  readonly commit: number
  readonly position: number
  readonly place?: WalPosition | undefined
}

type SyncOptions = {
  readonly failed: (cause: Error) => void
  /** Receives the synced WAL position before waiting callers are resolved. */
  readonly mark?: DurabilityMark
  readonly sync?: Sync
}

type Sync = (descriptor: number, done: (cause: Error | null) => void) => void

/**
 * One fdatasync of the WAL, outside the event loop, shared by all waiting callers: commits during a
 * sync wait for the next one. The descriptor stays open for the lifetime of the process, because
 * closing a file that SQLite has open can drop its locks. After a failed sync, the state of the
 * disk is unknown (fsyncgate), so `failed` must end the process.
 */
export function createSharedSync(
  walFile: string,
  head: number,
  { failed, mark, sync = fdatasync }: SyncOptions,
): Durability {
  const descriptor = openSync(walFile, "r")
  let written: Commit = { commit: 0, position: head }
  let synced = written
  let waiting: { commit: number; resolve: () => void }[] = []
  let running: PromiseWithResolvers<void> | undefined

  const round = () => {
    const current = Promise.withResolvers<void>()
    running = current
    const syncedPosition = written
    sync(descriptor, (cause) => {
      if (cause) return failed(cause)
      synced = syncedPosition
      if (synced.place) mark?.advance(synced.place, synced.position)
      const done = waiting.filter((waiter) => waiter.commit <= synced.commit)
      waiting = waiting.filter((waiter) => waiter.commit > synced.commit)
      running = undefined
      if (waiting.length > 0) round()
      for (const waiter of done) waiter.resolve()
      current.resolve()
    })
  }

  const settle = () => {
    if (synced.commit >= written.commit) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.push({ commit: written.commit, resolve })
    if (!running) round()
    return promise
  }

  return {
    recordCommit: (position) => {
      written = { commit: written.commit + 1, position, place: mark?.place(descriptor) }
    },
    waitUntilSynced: settle,
    currentSync: () => running?.promise,
    durablePosition: () => synced.position,
    close: async () => {
      await settle()
      closeSync(descriptor)
    },
  }
}

/** For platforms where the commit itself syncs (synchronous=FULL). */
export function createCommitSync(head: number): Durability {
  let position = head
  return {
    recordCommit: (next) => {
      position = next
    },
    waitUntilSynced: () => Promise.resolve(),
    currentSync: () => undefined,
    durablePosition: () => position,
    close: () => Promise.resolve(),
  }
}
