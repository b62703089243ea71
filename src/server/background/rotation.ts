import { instanceIds } from "../../domain/instance/index.ts"
import { rotateKeys, rotateSamlKeys } from "../../domain/key/index.ts"
import type { ServerServices } from "../services.ts"
import { keepRounds } from "./round.ts"

const every = 3_600_000

/** Looks at the keys of every instance now and each hour, until it is stopped. */
export const keepRotating = (services: ServerServices) =>
  keepRounds(services.clock, every, () => rotateAll(services))

/** What fails for one instance is logged and comes up again; the others don't wait for it. */
async function rotateAll(services: ServerServices): Promise<void> {
  for (const instance of instanceIds(services.store)) {
    const cx = services.call(instance, "key-rotation")
    for (const rotate of [rotateKeys, rotateSamlKeys]) {
      await rotate(cx).catch((cause) =>
        services.log.error("the keys of instance {instance} could not be rotated: {cause}", {
          instance,
          cause: String(cause),
        }),
      )
    }
  }
}
