import { removedInstances } from "../../domain/instance/index.ts"
import type { Timer } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import type { ServerServices } from "../services.ts"

/** The first starts when a start is over and done with. */
const firstMs = 60_000
const everyMs = 24 * 3_600_000
/** It works a twentieth of the time. */
const rest = 19

const walError = () =>
  new Fault(
    "unavailable",
    "store.wal_lacking",
    "it was gone when this started, and the database may have older and newer parts; it is being " +
      "looked through",
  )

/**
 * Looks for damage in the background, once a day; the node is not ready where it finds some. Where
 * the WAL was gone, it is not ready before all has been looked through, and that begins at once.
 */
export function keepInspecting({
  store,
  clock,
  log,
  broke,
  mended,
}: Pick<ServerServices, "store" | "clock" | "log" | "broke" | "mended">): {
  readonly stop: () => Promise<void>
} {
  let timer: Timer | undefined
  let isStopped = false
  const gone = () => removedInstances(store).map(({ instance }) => instance)
  const look = async (pausing = rest) => {
    try {
      await store.inspect({ rest: pausing, gone })
      if (!isStopped) mended("the WAL")
      wait(everyMs)
    } catch (cause) {
      log.warning("the database could not be looked through: {cause}", { cause: String(cause) })
      wait(store.lackedWal ? firstMs : everyMs)
    }
  }
  const wait = (ms: number) => {
    if (!isStopped) timer = clock.after(ms, look)
  }
  if (store.lackedWal) {
    broke("the WAL", walError())
    void look(0)
  } else wait(firstMs)
  return {
    stop: async () => {
      isStopped = true
      timer?.stop()
    },
  }
}
