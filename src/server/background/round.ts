import type { Clock, Timer } from "../../kernel/clock.ts"

/**
 * Does a piece of work now, and again `everyMs` after its end, until it is stopped. Whoever stops
 * it waits for the piece under way, which may ask whether it should break off.
 */
export function keepRounds(
  clock: Clock,
  everyMs: number,
  work: (stopped: () => boolean) => Promise<void>,
): { readonly stop: () => Promise<void> } {
  let timer: Timer | undefined
  let isStopped = false
  let working: Promise<void> = Promise.resolve()
  const round = () => {
    working = work(() => isStopped).then(() => {
      if (!isStopped) timer = clock.after(everyMs, round)
    })
  }
  round()
  return {
    stop: async () => {
      isStopped = true
      timer?.stop()
      await working
    },
  }
}
