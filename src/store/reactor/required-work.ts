import type { Clock, Timer } from "../../kernel/clock.ts"
import { type RetryOptions, retryUntilDone } from "../retry.ts"
import type { ReactorCallbacks } from "./reactor.ts"

export const pollMs = 200

export type InterruptiblePauses = Pick<RetryOptions, "isOver"> & {
  readonly sleep: (ms: number) => Promise<void>
}
export type RunRequired = <T>(work: () => Promise<T>) => Promise<T | undefined>

/** Runs required work until it succeeds, regardless of disk failures. */
export function createRunRequired(
  name: string,
  { onBlocked = throwCause, onUnblocked }: ReactorCallbacks,
  pauses: InterruptiblePauses,
): RunRequired {
  return async <T>(work: () => Promise<T>) => {
    let isStuck = false
    const failed = (cause: unknown) => {
      isStuck = true
      onBlocked(name, cause)
    }
    const result = await retryUntilDone({ ...pauses, failed }, work)
    // Also after an interruption: this node has stopped, or another node does the work now.
    if (isStuck) onUnblocked?.(name)
    return result
  }
}

const throwCause = (_: string, cause: unknown): never => {
  throw cause
}

type PollOptions = {
  readonly act: () => Promise<void>
  readonly everyMs?: number
  readonly sleep: (ms: number) => Promise<void>
  readonly isOver: () => boolean
}

export async function poll({ act, everyMs = pollMs, sleep, isOver }: PollOptions): Promise<void> {
  while (!isOver()) {
    await sleep(everyMs)
    if (!isOver()) await act()
  }
}

/** Pauses that can all be ended at once. */
export function createPauses(clock: Clock) {
  const pauses = new Set<() => void>()
  const sleep = (ms: number) =>
    new Promise<void>((resolve) => {
      const end = () => {
        pauses.delete(end)
        timer.stop()
        resolve()
      }
      const timer: Timer = clock.after(ms, end)
      pauses.add(end)
    })
  const wake = () => {
    for (const end of [...pauses]) end()
  }
  return { sleep, wake }
}
