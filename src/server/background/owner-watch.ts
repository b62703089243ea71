import { instanceIds } from "../../domain/instance/index.ts"
import { warnOfLeaving } from "../../domain/user/index.ts"
import { reasonText } from "../../kernel/fault.ts"
import type { ServerServices } from "../services.ts"
import { keepRounds } from "./round.ts"

const every = 86_400_000

/**
 * Says in the log, now and each day until it is stopped, which instances nobody will be able to
 * administer for good.
 */
export const watchOwners = (
  services: Pick<ServerServices, "clock" | "store" | "log" | "call"> & {
    readonly lead?: ServerServices["lead"]
  },
) =>
  keepRounds(services.clock, every, async () => {
    if (services.lead?.holds() === false) return
    for (const instance of instanceIds(services.store)) {
      await warnOfLeaving(services.call(instance, "owner-watch")).catch((cause) =>
        services.log.error("the owners of instance {instance} can't be looked at: {cause}", {
          instance,
          cause: reasonText(cause),
        }),
      )
    }
  })
