import type { Logger } from "@logtape/logtape"
import type { Refusal } from "../domain/refusal/index.ts"
import type { Clock } from "../kernel/clock.ts"
import { presentEvent } from "../kernel/event/subject.ts"
import type { OpenOptions } from "../store/index.ts"
import { authenticationChecks } from "./metrics/counted-events.ts"

/**
 * Strangers can cause these lines, so only this many are written per second, and the others are
 * counted.
 */
const linesPerSecond = 20

/** One line per rejected request of an application, readable after a restart. */
export function createRejectionLog(logger: Logger, clock: Clock): (refusal: Refusal) => void {
  const paced = createRateLimitedWriter(clock, (passedOver) =>
    logger.info("{passedOver} more requests were rejected", { passedOver }),
  )
  return ({ findings, ...refusal }) =>
    paced(() =>
      logger.info("{endpoint}: {error} to client {clientId} ({requestId}): {findings}", {
        ...refusal,
        findings: JSON.stringify(findings),
      }),
    )
}

/** Limits lines per second; `rest` logs the number of omitted ones later. */
function createRateLimitedWriter(clock: Clock, rest: (passedOver: number) => void) {
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
  /** Logs the failed sign-ins among the events of a step. */
  readonly appended: NonNullable<OpenOptions["appended"]>
  /** Logs a sign-in with an unknown name, without the name, because it can be a password. */
  readonly unknownAccount: (address: string) => void
}

/**
 * One line per failed sign-in with a known address, for programs that block addresses. The line
 * starts with the address, so nothing that the client chooses is before it.
 */
export function createFailedSignInLog(logger: Logger, clock: Clock): FailedSignInLog {
  const paced = createRateLimitedWriter(clock, (passedOver) =>
    logger.info("{passedOver} more sign-ins failed", { passedOver }),
  )
  return {
    unknownAccount: (address) =>
      paced(() => logger.info("failed sign-in from {address}: unknown account", { address })),
    appended: (events) => {
      for (const event of events) {
        const [check, outcome] = authenticationChecks.get(event.type) ?? []
        if (outcome !== "failed" || !event.private || !("address" in event.private)) continue
        const { address } = event.private
        if (typeof address !== "string" || address === "") continue
        const { aggregateId: userId } = presentEvent(event)
        const failed = { address, check, userId, requestId: event.correlation }
        paced(() => logger.info("failed sign-in from {address}: {check} of user {userId}", failed))
      }
    },
  }
}
