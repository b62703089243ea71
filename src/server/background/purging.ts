import { removedInstances } from "../../domain/instance/index.ts"
import { reasonText } from "../../kernel/fault.ts"
import type { ServerServices } from "../services.ts"
import { keepRounds } from "./round.ts"

const every = 60_000

type Parts = Pick<ServerServices, "store" | "clock" | "log"> & {
  readonly lead?: ServerServices["lead"]
}

/**
 * Takes away what removed instances had, and the last bytes of what was erased, now and each
 * minute, until it is stopped. `passed` is the position that every reactor has passed: until they
 * saw an instance go, it stays.
 */
export const keepPurging = (parts: Parts, passed: () => number) =>
  keepRounds(parts.clock, every, (stopped) =>
    sweepAll(parts, { passed, stopped }).catch((cause) =>
      parts.log.warning("what removed instances had stays: {cause}", { cause: reasonText(cause) }),
    ),
  )

async function sweepAll(
  { store, log, lead }: Parts,
  { passed, stopped }: { readonly passed: () => number; readonly stopped: () => boolean },
): Promise<void> {
  for (const { instance, position } of removedInstances(store)) {
    if (position > passed()) continue
    const isFollowing = lead?.holds() === false
    const keep = { stream: "instance", view: "instance" }
    const rows = await store.purge({ instance, keep, stopped, isFollowing })
    if (rows > 0) log.info("took away what instance {instance} had", { instance, rows })
  }
  await store.scrub()
}
