import { Fault } from "../../kernel/fault.ts"
import { createQueue } from "../../runtime/queue.ts"

/**
 * Decodes expensive uploads one at a time, alternating between organizations; only a few uploads of
 * each organization can wait.
 */
export const decodeQueue = createQueue(1, 8, () => {
  const message = "too many pictures are being decoded; try again in a few seconds"
  return new Fault("resource_exhausted", "asset.busy", message, { retryAfterSeconds: 5 })
})
