import type { Logger } from "@logtape/logtape"
import type { Refusal } from "../domain/refusal/index.ts"

/** One line for each refused request of an application, for whoever reads it after a restart. */
export const refusalLog =
  (logger: Logger) =>
  ({ findings, ...refusal }: Refusal): void =>
    logger.info("{endpoint}: {error} to client {clientId} ({requestId}): {findings}", {
      ...refusal,
      findings: JSON.stringify(findings),
    })
