import type { ServerServices } from "../services.ts"
import { startRepeating } from "./repeat.ts"

const intervalMs = 5000

/**
 * Releases the page cache of the database while nothing is written, so that an idle server uses
 * little memory. Reads then use the cache of the operating system.
 */
export function startCacheRelease({ store, clock }: Pick<ServerServices, "store" | "clock">) {
  let seen = -1
  return startRepeating(clock, intervalMs, async () => {
    const writes = store.log.writes()
    if (writes === seen) store.shrink()
    seen = writes
  })
}
