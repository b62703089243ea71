import { pause } from "../kernel/clock.ts"
import { Fault } from "../kernel/fault.ts"
import { diskTroubleOf } from "./disk-error.ts"

/** A tool that backs up holds the file for seconds; whoever waits longer would rather be told. */
const patienceMs = 5000
const lookMs = 25
/** Between two tries of what goes on by itself. */
const firstMs = 100
const lastMs = 2000

/** Tries again while another program holds the database locked, for some seconds. */
export async function patiently<T>(file: string, work: () => T): Promise<T> {
  for (let waited = 0; ; waited += lookMs) {
    try {
      return work()
    } catch (cause) {
      if (waited >= patienceMs || !isLocked(cause, file)) throw cause
    }
    await pause(lookMs)
  }
}

export const isLocked = (cause: unknown, file: string): boolean =>
  diskTroubleOf(cause, file)?.kind === "busy"

/** Whether what could not be done now may be done later. */
export function isPassing(cause: unknown, file: string): boolean {
  // The log is another machine's, which may be away for a while.
  if (cause instanceof Fault && cause.id.startsWith("store.database_")) return true
  const kind = diskTroubleOf(cause, file)?.kind
  return kind !== undefined && kind !== "damaged"
}

/**
 * Does `step`. While nodes of an older version could not read what it writes, it does `lesser`
 * instead, which writes only what they know.
 */
export async function readableByAll<T>(
  step: () => Promise<T>,
  lesser: () => Promise<T>,
): Promise<T> {
  try {
    return await step()
  } catch (cause) {
    if (cause instanceof Fault && cause.id === nodesOlder) return lesser()
    throw cause
  }
}

/** Id of the fault of a step that nodes of an older version can't read. */
export const nodesOlder = "store.nodes_older"

export type Insistence = {
  readonly isOver: () => boolean
  /** Called for each try that failed; what it throws ends the work. */
  readonly failed: (cause: unknown) => void
  readonly sleep?: (ms: number) => Promise<void>
}

/**
 * Does what nobody asked for and somebody must do, however often the disk refuses it, with longer
 * and longer pauses; undefined where it was over first.
 */
export async function insistently<T>(
  { isOver, failed, sleep = pause }: Insistence,
  work: () => Promise<T>,
): Promise<T | undefined> {
  for (let ms = firstMs; !isOver(); ms = Math.min(ms * 2, lastMs)) {
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
