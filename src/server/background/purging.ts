import { removedInstances } from "../../domain/instance/index.ts"
import { errorText } from "../../kernel/fault.ts"
import type { ServerServices } from "../services.ts"
import { startRepeating } from "./repeat.ts"

const intervalMs = 60_000

type PurgeParts = Pick<ServerServices, "store" | "clock" | "log"> & {
  readonly lead?: ServerServices["lead"]
}

/**
 * Deletes the data of removed instances and the remaining bytes of erased data, now and every
 * minute until stopped. `passed` is the position that all reactors have passed: they must see the
 * removal before the data is deleted.
 */
export const startPurging = (parts: PurgeParts, passedPosition: () => number) =>
  startRepeating(parts.clock, intervalMs, (stopped) =>
    purgeAll(parts, { passed: passedPosition, stopped }).catch((cause) =>
      parts.log.warning("the data of removed instances could not be deleted: {cause}", {
        cause: errorText(cause),
      }),
    ),
  )

async function purgeAll(
  { store, log, lead }: PurgeParts,
  {
    passed: passedPosition,
    stopped,
  }: { readonly passed: () => number; readonly stopped: () => boolean },
): Promise<void> {
  for (const { instance, position } of removedInstances(store)) {
    if (position > passedPosition()) continue
    const isFollowing = lead?.holds() === false
    const keep = { stream: "instance", view: "instance" }
    const rows = await store.purge({ instance, keep, stopped, isFollowing })
    if (rows > 0) log.info("deleted the data of instance {instance}", { instance, rows })
  }
  await store.scrub()
}
