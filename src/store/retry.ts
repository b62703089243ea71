import { delay } from "../kernel/clock.ts"
import { Fault } from "../kernel/fault.ts"
import { classifyDiskFailure } from "./disk-error.ts"

/** A backup tool holds the file for seconds; waiting longer would be worse than an error. */
const maxWaitMs = 5000
const retryMs = 25
/** Pauses between retries of background work. */
const minPauseMs = 100
const maxPauseMs = 2000

/** Retries while another program has the database locked, for a few seconds. */
export async function retryWhileLocked<T>(file: string, work: () => T): Promise<T> {
  for (let waited = 0; ; waited += retryMs) {
    try {
      return work()
    } catch (cause) {
      if (waited >= maxWaitMs || !isLocked(cause, file)) throw cause
    }
    await delay(retryMs)
  }
}

export const isLocked = (cause: unknown, file: string): boolean =>
  classifyDiskFailure(cause, file)?.kind === "busy"

/** Whether a failed operation may succeed later. */
export function isTemporary(cause: unknown, file: string): boolean {
  // The log is on another machine, which may be unavailable for a while.
  if (cause instanceof Fault && cause.id.startsWith("store.database_")) return true
  const kind = classifyDiskFailure(cause, file)?.kind
  return kind !== undefined && kind !== "damaged"
}

/**
 * Runs `step`, or `lesser` while nodes of an older version can't read what `step` writes; `lesser`
 * only writes what they support.
 */
export async function writeReadableByAll<T>(
  step: () => Promise<T>,
  compatibleStep: () => Promise<T>,
): Promise<T> {
  try {
    return await step()
  } catch (cause) {
    if (cause instanceof Fault && cause.id === nodesOlderId) return compatibleStep()
    throw cause
  }
}

/** The fault ID for a write that nodes of an older version can't read. */
export const nodesOlderId = "store.nodes_older"

export type RetryOptions = {
  readonly isOver: () => boolean
  /** Called for each failed attempt; an exception ends the work. */
  readonly failed: (cause: unknown) => void
  readonly sleep?: (ms: number) => Promise<void>
}

/**
 * Runs required background work, with growing pauses, until the disk accepts it; undefined if it
 * was canceled first.
 */
export async function retryUntilDone<T>(
  { isOver, failed, sleep = delay }: RetryOptions,
  work: () => Promise<T>,
): Promise<T | undefined> {
  for (let ms = minPauseMs; !isOver(); ms = Math.min(ms * 2, maxPauseMs)) {
    try {
      return await work()
    } catch (cause) {
      if (isOver()) return undefined
      failed(cause)
    }
    await sleep(ms)
  }
  return undefined
}
