import type { Clock } from "../../kernel/clock.ts"
import type { Fault } from "../../kernel/fault.ts"
import type { Store } from "../../store/index.ts"
import type { Readiness } from "./readiness.ts"

const diskStates = { passing: "the disk", lasting: "the database" } as const
const firstPauseMs = 250
const longestPauseMs = 5000

type DiskWatchParts = Readiness & { readonly clock: Clock; readonly store: () => Store }

/**
 * After a disk error, makes the node not ready and tests writes until one succeeds. Corruption
 * lasts until the next start.
 */
export function watchDisk({
  reportProblem,
  clearProblem,
  clock,
  store,
}: DiskWatchParts): (fault: Fault) => void {
  let isTrying = false
  const again = (ms: number) => {
    isTrying = true
    clock.after(ms, () => void attempt(ms))
  }
  const attempt = async (ms: number) => {
    try {
      await store().probe()
      isTrying = false
      clearProblem(diskStates.passing)
    } catch (cause) {
      reportProblem(diskStates.passing, cause)
      again(Math.min(ms * 2, longestPauseMs))
    }
  }
  return (fault) => {
    if (fault.code === "data_loss") return reportProblem(diskStates.lasting, fault)
    reportProblem(diskStates.passing, fault)
    if (!isTrying) again(firstPauseMs)
  }
}
