import type { Logger } from "@logtape/logtape"
import type { Refusal } from "../domain/refusal/index.ts"
import type { Clock } from "../kernel/clock.ts"
import { present } from "../kernel/event/subject.ts"
import type { OpenOptions } from "../store/index.ts"
import { checks } from "./metrics/event-kind.ts"

/** Strangers cause these lines: so many a second are written, and then how many were not. */
const linesPerSecond = 20

/** One line for each refused request of an application, for whoever reads it after a restart. */
export function refusalLog(logger: Logger, clock: Clock): (refusal: Refusal) => void {
  const paced = pacedBy(clock, (passedOver) =>
    logger.info("{passedOver} more requests were refused", { passedOver }),
  )
  return ({ findings, ...refusal }) =>
    paced(() =>
      logger.info("{endpoint}: {error} to client {clientId} ({requestId}): {findings}", {
        ...refusal,
        findings: JSON.stringify(findings),
      }),
    )
}

/** Writes lines, as many as one second takes; `rest` is told in a later one how many it did not. */
function pacedBy(clock: Clock, rest: (passedOver: number) => void) {
  let second = 0
  let lines = 0
  let passedOver = 0
  return (write: () => void): void => {
    const now = Math.floor(clock.now() / 1000)
    if (now !== second) {
      if (passedOver > 0) rest(passedOver)
      second = now
      lines = 0
      passedOver = 0
    }
    if (++lines > linesPerSecond) passedOver++
    else write()
  }
}

export type FailedSignInLog = {
  /** Logs those among the events of a step. */
  readonly appended: NonNullable<OpenOptions["appended"]>
  /** Logs one with a name that is nobody's; the name is not in it, since it may be a password. */
  readonly stranger: (address: string) => void
}

/**
 * One line for each failed sign-in whose address is known, for programs that block addresses. Lines
 * begin with the address: nothing that the sender chooses comes before it.
 */
export function failedSignInLog(logger: Logger, clock: Clock): FailedSignInLog {
  const paced = pacedBy(clock, (passedOver) =>
    logger.info("{passedOver} more sign-ins failed", { passedOver }),
  )
  return {
    stranger: (address) =>
      paced(() => logger.info("failed sign-in from {address}: unknown account", { address })),
    appended: (events) => {
      for (const event of events) {
        const [check, outcome] = checks.get(event.type) ?? []
        if (outcome !== "failed" || !event.private || !("address" in event.private)) continue
        const { address } = event.private
        if (typeof address !== "string" || address === "") continue
        const { aggregateId: userId } = present(event)
        const failed = { address, check, userId, requestId: event.correlation }
        paced(() => logger.info("failed sign-in from {address}: {check} of user {userId}", failed))
      }
    },
  }
}
