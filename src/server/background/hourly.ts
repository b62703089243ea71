import { instanceIds } from "../../domain/instance/index.ts"
import { reasonText } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"
import { keepRounds } from "./round.ts"

type Work = {
  /** Who does it, in the events. */
  readonly name: string
  readonly does: readonly ((cx: Cx) => Promise<void>)[]
  /** What the log says where it fails, with {instance} and {cause}. */
  readonly failed: string
}

const every = 3_600_000

/**
 * Does its work for every instance now and each hour, until it is stopped, where it is this node
 * that works. What fails is logged and comes up again; nothing else waits for it.
 */
export const keepHourly = (services: ServerServices, { name, does, failed }: Work) =>
  keepRounds(services.clock, every, async () => {
    if (!services.lead.holds()) return
    for (const instance of instanceIds(services.store)) {
      const cx = services.call(instance, name)
      for (const each of does) {
        await each(cx).catch((cause) =>
          services.log.error(failed, { instance, cause: reasonText(cause) }),
        )
      }
    }
  })
