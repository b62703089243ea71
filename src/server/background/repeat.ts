import type { Clock, Timer } from "../../kernel/clock.ts"

/**
 * Runs the work now and again `everyMs` after its end, until stopped. Stopping waits for the
 * current run, which can check `stopped` to end early.
 */
export function startRepeating(
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
