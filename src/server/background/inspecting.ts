import { removedInstances } from "../../domain/instance/index.ts"
import type { Timer } from "../../kernel/clock.ts"
import { errorText } from "../../kernel/fault.ts"
import type { ServerServices } from "../services.ts"

/** The first check runs after the start has completed. */
const firstMs = 60_000
const everyMs = 24 * 3_600_000
/** The check runs 5 % of the time. */
const pauseFactor = 19

/**
 * Checks the database for corruption in the background once a day; the node becomes not ready if
 * any is found.
 */
export function startInspection({
  store,
  clock,
  log,
}: Pick<ServerServices, "store" | "clock" | "log">): {
  readonly stop: () => Promise<void>
} {
  let timer: Timer | undefined
  let isStopped = false
  const runInspection = () => {
    store
      .inspect({
        rest: pauseFactor,
        gone: () => removedInstances(store).map(({ instance }) => instance),
      })
      .catch((cause: unknown) =>
        log.warning("the database could not be checked: {cause}", {
          cause: errorText(cause),
        }),
      )
      .then(() => wait(everyMs))
  }
  const wait = (ms: number) => {
    if (!isStopped) timer = clock.after(ms, runInspection)
  }
  wait(firstMs)
  return {
    stop: async () => {
      isStopped = true
      timer?.stop()
    },
  }
}
