import { type Clock, systemClock } from "../../kernel/clock.ts"
import type { Channel } from "../../store/index.ts"
import { startRepeating } from "../background/repeat.ts"
import { ignoreErrors } from "./slot.ts"

const intervalMs = 200

/**
 * Sends the readiness of the service to all workers, so that each can report it. Also sent
 * initially, because the start message can be outdated.
 */
export function startReadinessNotices(
  notReady: () => string | undefined,
  lines: () => readonly Pick<Channel, "ask">[],
  clock: Clock = systemClock,
) {
  const sentReasons = new WeakMap<Pick<Channel, "ask">, string>()
  return startRepeating(clock, intervalMs, async () => {
    const reason = notReady() ?? ""
    for (const line of lines()) {
      if (sentReasons.get(line) === reason) continue
      sentReasons.set(line, reason)
      void ignoreErrors(line.ask("condition", reason))
    }
  })
}
