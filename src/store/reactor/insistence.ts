import type { Clock, Timer } from "../../kernel/clock.ts"
import { type Insistence, insistently } from "../patience.ts"
import type { Troubles } from "./reactor.ts"

export const pollMs = 200

export type Pauses = Pick<Insistence, "isOver"> & { readonly sleep: (ms: number) => Promise<void> }
export type Insist = <T>(work: () => Promise<T>) => Promise<T | undefined>

/** Does what must be done to go on, however often the disk refuses it. */
export function insistence(
  name: string,
  { stuck = rethrow, freed }: Troubles,
  pauses: Pauses,
): Insist {
  return async <T>(work: () => Promise<T>) => {
    let isStuck = false
    const failed = (cause: unknown) => {
      isStuck = true
      stuck(name, cause)
    }
    const result = await insistently({ ...pauses, failed }, work)
    // Also where it is over: this node has stopped, or another one does the work now.
    if (isStuck) freed?.(name)
    return result
  }
}

const rethrow = (_: string, cause: unknown): never => {
  throw cause
}

type Polling = {
  readonly act: () => Promise<void>
  readonly everyMs?: number
  readonly sleep: (ms: number) => Promise<void>
  readonly isOver: () => boolean
}

export async function poll({ act, everyMs = pollMs, sleep, isOver }: Polling): Promise<void> {
  while (!isOver()) {
    await sleep(everyMs)
    if (!isOver()) await act()
  }
}

/** Waits that all end at once when there is nothing left to wait for. */
export function pausesOf(clock: Clock) {
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
