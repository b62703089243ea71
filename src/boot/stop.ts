import type { Clock } from "../kernel/clock.ts"
import { Fault } from "../kernel/fault.ts"

/** The time limit of a stop in ms; one second is left for the end of the process. */
const stopMsMax = 9000

export type StopFunctions = {
  /** Resolves when load balancers have had time to redirect requests. */
  readonly drain?: () => Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * Waits for SIGTERM or SIGINT, then for `drain` and `stop`, and returns the exit code: 0, or 1
 * after a second signal. SIGINT comes from a terminal, so it does not wait for load balancers.
 * Throws if one of them fails or `stop` takes too long.
 */
export async function waitForStop(clock: Clock, { drain, stop }: StopFunctions): Promise<number> {
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
    clock.after(stopMsMax, () => late.reject(stopTimeoutFault))
    return Promise.race([stop().then(() => 0), late.promise])
  }
  return Promise.race([stopInTime(), again])
}

const stopTimeoutFault = new Fault(
  "deadline_exceeded",
  "stop.too_late",
  `some requests were still running after ${stopMsMax / 1000} seconds and were aborted`,
)
