import type { Clock } from "../kernel/clock.ts"
import { Fault } from "../kernel/fault.ts"

/** How long a stop may take; a second is left for what ends with the process. */
const stopMsMax = 9000

export type Stopping = {
  /** Resolves when load balancers have had time to send requests elsewhere. */
  readonly drain?: () => Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * Waits for SIGTERM or SIGINT, then for `drain` and `stop`, and answers the exit code: 0, or 1 when
 * a second signal came first. SIGINT is a person at a terminal, who waits for no load balancer.
 * Throws when one of them fails or `stop` takes too long.
 */
export async function untilStopped(clock: Clock, { drain, stop }: Stopping): Promise<number> {
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  let signals = 0
  const arrived = (signal: string) => (signals++ === 0 ? first : second).resolve(signal)
  process.on("SIGTERM", arrived)
  process.on("SIGINT", arrived)

  const signal = await first.promise
  const again = second.promise.then(() => 1)
  const stopInTime = async () => {
    if (signal === "SIGTERM") await drain?.()
    const late = Promise.withResolvers<never>()
    clock.after(stopMsMax, () => late.reject(tooLate))
    return Promise.race([stop().then(() => 0), late.promise])
  }
  return Promise.race([stopInTime(), again])
}

const tooLate = new Fault(
  "deadline_exceeded",
  "stop.too_late",
  `some requests were still running after ${stopMsMax / 1000} seconds and were cut off`,
)
