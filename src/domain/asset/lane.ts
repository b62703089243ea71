import { Fault } from "../../kernel/fault.ts"
import { queueOf } from "../../runtime/queue.ts"

/**
 * Reads what somebody has uploaded, where that is costly: one file at a time, the organizations in
 * turn, and few of each wait.
 */
export const decodeInTurn = queueOf(1, 8, () => {
  const message = "too many pictures are being read at this moment; try again in a few seconds"
  return new Fault("resource_exhausted", "asset.busy", message, { retryAfterSeconds: 5 })
})
