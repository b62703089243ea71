import type { Logger } from "@logtape/logtape"
import type { Refusal } from "../domain/refusal/index.ts"
import type { Clock } from "../kernel/clock.ts"

/** Strangers cause these lines: so many a second are written, and then how many were not. */
const linesPerSecond = 20

/** One line for each refused request of an application, for whoever reads it after a restart. */
export function refusalLog(logger: Logger, clock: Clock): (refusal: Refusal) => void {
  let second = 0
  let lines = 0
  let passedOver = 0
  return ({ findings, ...refusal }) => {
    const now = Math.floor(clock.now() / 1000)
    if (now !== second) {
      if (passedOver > 0) logger.info("{passedOver} more requests were refused", { passedOver })
      second = now
      lines = 0
      passedOver = 0
    }
    if (++lines > linesPerSecond) {
      passedOver++
      return
    }
    logger.info("{endpoint}: {error} to client {clientId} ({requestId}): {findings}", {
      ...refusal,
      findings: JSON.stringify(findings),
    })
  }
}
