import type { Logger } from "@logtape/logtape"
import { Fault } from "../../kernel/fault.ts"

/** The conditions that make a node not ready, each with a reason. */
export type Readiness = {
  /** All current reasons; undefined if the node is ready. */
  readonly notReady: () => string | undefined
  /** Adds a condition; an already reported one is not logged again. */
  readonly reportProblem: (condition: string, cause: unknown) => void
  /** Removes a condition. */
  readonly clearProblem: (condition: string) => void
  /** The process is about to stop and will not become ready again. */
  readonly startStopping: () => void
}

/** `faultOf` describes a known cause. */
export function createReadiness(
  log: Logger,
  faultOf: (cause: unknown) => Fault | undefined,
): Readiness {
  const problems = new Map<string, string>()
  let isLeaving = false
  return {
    notReady: () => {
      if (isLeaving) return "the server is stopping"
      return problems.size === 0 ? undefined : [...problems.values()].join("; ")
    },
    startStopping: () => {
      isLeaving = true
    },
    reportProblem: (condition, cause) => {
      const fault = cause instanceof Fault ? cause : faultOf(cause)
      const description = fault ? `${condition}: ${fault.message}` : condition
      if (problems.get(condition) === description) return
      problems.set(condition, description)
      log.error("not ready: {what}: {cause}", { what: condition, cause: String(fault ?? cause) })
    },
    clearProblem: (condition) => {
      if (problems.delete(condition))
        log.info("this condition has ended: {what}", { what: condition })
    },
  }
}
