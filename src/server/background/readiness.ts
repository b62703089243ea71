import type { Logger } from "@logtape/logtape"
import { Fault } from "../../kernel/fault.ts"

/** Why a node is not ready: conditions that come and go, each with its words. */
export type Readiness = {
  /** All that holds at the moment; undefined where nothing does. */
  readonly notReady: () => string | undefined
  /** Something does not work; what is said already is not logged again. */
  readonly broke: (what: string, cause: unknown) => void
  /** It works again. */
  readonly mended: (what: string) => void
  /** The process is about to stop, and does not become ready any more. */
  readonly leave: () => void
}

/** `faultOf` says what a cause means in plain words, if it is more than a bug. */
export function readinessOf(
  log: Logger,
  faultOf: (cause: unknown) => Fault | undefined,
): Readiness {
  const held = new Map<string, string>()
  let isLeaving = false
  return {
    notReady: () => {
      if (isLeaving) return "the server is stopping"
      return held.size === 0 ? undefined : [...held.values()].join("; ")
    },
    leave: () => {
      isLeaving = true
    },
    broke: (what, cause) => {
      const fault = cause instanceof Fault ? cause : faultOf(cause)
      const said = fault ? `${what}: ${fault.message}` : what
      if (held.get(what) === said) return
      held.set(what, said)
      log.error("not ready: {what}: {cause}", { what, cause: String(fault ?? cause) })
    },
    mended: (what) => {
      if (held.delete(what)) log.info("ready as to this again: {what}", { what })
    },
  }
}
