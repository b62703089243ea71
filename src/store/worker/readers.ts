import type { Reader } from "../search/reader.ts"
import type { Together } from "../store-parts.ts"

/** The processes that read a file beside the one that writes it. */
export type Readers = Pick<Together, "spendOnce"> & {
  /** Resolves when none of them searches any more, or none is waited for any longer. */
  readonly rest: () => Promise<Resting>
  /** Leaves nothing in their indexes of what has been erased. */
  readonly scrub: () => Promise<void>
}

/** Processes of which none searches. */
export type Resting = {
  /** Resolves when they read nothing at all: whoever asks them something waits. */
  readonly hold: () => Promise<void>
  /** Has them go on with everything. */
  readonly readOn: () => void
}

/**
 * Resolves when nobody reads through another connection, here or in other processes. Searches may
 * take long, so that those of all come to their end first: requests wait only after that, for as
 * long as the last of the WAL is copied.
 */
export const pausing = (here: Reader["pause"], workers?: Readers): Reader["pause"] =>
  workers
    ? async () => {
        const [readOn, others] = await Promise.all([here(), workers.rest()])
        await others.hold()
        return () => {
          readOn()
          others.readOn()
        }
      }
    : here
