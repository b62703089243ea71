import { instanceIds } from "../../domain/instance/index.ts"
import { warnIfOwnerless } from "../../domain/user/index.ts"
import { errorText } from "../../kernel/fault.ts"
import type { ServerServices } from "../services.ts"
import { startRepeating } from "./repeat.ts"

const intervalMs = 86_400_000

/**
 * Logs, now and every day until stopped, the instances whose last administrator access will expire.
 */
export const watchOwners = (
  services: Pick<ServerServices, "clock" | "store" | "log" | "call"> & {
    readonly lead?: ServerServices["lead"]
  },
) =>
  startRepeating(services.clock, intervalMs, async () => {
    if (services.lead?.holds() === false) return
    for (const instance of instanceIds(services.store)) {
      await warnIfOwnerless(services.call(instance, "owner-watch")).catch((cause) =>
        services.log.error("the owners of instance {instance} could not be checked: {cause}", {
          instance,
          cause: errorText(cause),
        }),
      )
    }
  })
