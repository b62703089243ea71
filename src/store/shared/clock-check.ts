import { Fault } from "../../kernel/fault.ts"

/** Maximum clock difference: signatures and expiry depend on each node's own clock, in seconds. */
export const maxDifferenceMs = 10_000

/** Throws if this clock differs too much from the database's, both in ms UTC. */
export function requireSynchronizedClock(localTime: number, databaseTime: number): void {
  const fault = clockFault(localTime, databaseTime)
  if (fault) throw fault
}

export function clockFault(localTime: number, databaseTime: number): Fault | undefined {
  const seconds = Math.round((localTime - databaseTime) / 1000)
  if (Math.abs(localTime - databaseTime) <= maxDifferenceMs) return undefined
  return new Fault(
    "unavailable",
    "store.clock_odd",
    `the clock of this machine is ${Math.abs(seconds)} s ` +
      `${seconds > 0 ? "ahead of" : "behind"} the database clock; synchronize both with NTP`,
  )
}
