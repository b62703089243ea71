import { removedInstances } from "../../domain/instance/index.ts"
import type { Timer } from "../../kernel/clock.ts"
import { reasonText } from "../../kernel/fault.ts"
import type { ServerServices } from "../services.ts"

/** The first starts when a start is over and done with. */
const firstMs = 60_000
const everyMs = 24 * 3_600_000
/** It works a twentieth of the time. */
const rest = 19

/** Looks for damage in the background, once a day; the node is not ready where it finds some. */
export function keepInspecting({
  store,
  clock,
  log,
}: Pick<ServerServices, "store" | "clock" | "log">): {
  readonly stop: () => Promise<void>
} {
  let timer: Timer | undefined
  let isStopped = false
  const look = () => {
    store
      .inspect({ rest, gone: () => removedInstances(store).map(({ instance }) => instance) })
      .catch((cause: unknown) =>
        log.warning("the database could not be looked through: {cause}", {
          cause: reasonText(cause),
        }),
      )
      .then(() => wait(everyMs))
  }
  const wait = (ms: number) => {
    if (!isStopped) timer = clock.after(ms, look)
  }
  wait(firstMs)
  return {
    stop: async () => {
      isStopped = true
      timer?.stop()
    },
  }
}
