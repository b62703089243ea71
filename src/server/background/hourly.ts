import { instanceIds } from "../../domain/instance/index.ts"
import { errorText } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"
import { startRepeating } from "./repeat.ts"

type HourlyWork = {
  /** The actor in events. */
  readonly name: string
  readonly tasks: readonly ((cx: Cx) => Promise<void>)[]
  /** The log message for failures, with {instance} and {cause}. */
  readonly failureMessage: string
}

const intervalMs = 3_600_000

/**
 * Runs the work for every instance now and each hour until stopped, on the leader only. Failures
 * are logged and retried in the next round.
 */
export const startHourly = (
  services: ServerServices,
  { name, tasks, failureMessage }: HourlyWork,
) =>
  startRepeating(services.clock, intervalMs, async () => {
    if (!services.lead.holds()) return
    for (const instance of instanceIds(services.store)) {
      const cx = services.call(instance, name)
      for (const each of tasks) {
        await each(cx).catch((cause) =>
          services.log.error(failureMessage, { instance, cause: errorText(cause) }),
        )
      }
    }
  })
