import { Fault } from "../../kernel/fault.ts"

/** What is signed or expires counts by seconds, on every node by its own clock. */
export const oddMs = 10_000

/** Refuses a clock that is too far from that of the database, both in ms UTC. */
export function refuseOddClock(own: number, its: number): void {
  const fault = oddClockFault(own, its)
  if (fault) throw fault
}

export function oddClockFault(own: number, its: number): Fault | undefined {
  const seconds = Math.round((own - its) / 1000)
  if (Math.abs(own - its) <= oddMs) return undefined
  return new Fault(
    "unavailable",
    "store.clock_odd",
    `the clock of this machine is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} ` +
      "that of the database; set both by NTP",
  )
}
