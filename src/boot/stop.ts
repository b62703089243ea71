import type { Clock } from "../kernel/clock.ts"
import { Fault } from "../kernel/fault.ts"

/** How long a stop may take; a second is left for what ends with the process. */
const stopMsMax = 9000

/**
 * Waits for SIGTERM or SIGINT, then for `stop`, and answers the exit code: 0, or 1 when a second
 * signal came first. Throws when `stop` fails or takes too long.
 */
export async function untilStopped(clock: Clock, stop: () => Promise<void>): Promise<number> {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let signals = 0
  const arrived = () => (signals++ === 0 ? first : second).resolve()
  process.on("SIGTERM", arrived)
  process.on("SIGINT", arrived)

  await first.promise
  const late = Promise.withResolvers<never>()
  clock.after(stopMsMax, () => late.reject(tooLate))
  return Promise.race([stop().then(() => 0), second.promise.then(() => 1), late.promise])
}

const tooLate = new Fault(
  "deadline_exceeded",
  "stop.too_late",
  `some requests were still running after ${stopMsMax / 1000} seconds and were cut off`,
)
