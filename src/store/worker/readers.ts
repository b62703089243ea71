import type { Reader } from "../search/reader.ts"
import type { SharedProcesses } from "../store-parts.ts"

/** The processes that read the file of the writer process. */
export type ReaderProcesses = Pick<SharedProcesses, "spendOnce"> & {
  /** Resolves when none of them is searching, or after a timeout. */
  readonly rest: () => Promise<PausedReaders>
  /** Removes erased data from their indexes. */
  readonly scrub: () => Promise<void>
}

/** Paused processes, none of which is searching. */
export type PausedReaders = {
  /** Resolves when they no longer read at all: their requests wait. */
  readonly hold: () => Promise<void>
  /** Lets them continue. */
  readonly readOn: () => void
}

/**
 * Resolves when no other connection reads, here or in other processes. Searches can take long, so
 * all of them are paused first; requests only wait afterwards, while the rest of the WAL is copied.
 */
export const pauseAll = (pauseHere: Reader["pause"], workers?: ReaderProcesses): Reader["pause"] =>
  workers
    ? async () => {
        const [readOn, others] = await Promise.all([pauseHere(), workers.rest()])
        await others.hold()
        return () => {
          readOn()
          others.readOn()
        }
      }
    : pauseHere
