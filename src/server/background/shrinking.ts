import type { ServerServices } from "../services.ts"
import { keepRounds } from "./round.ts"

const everyMs = 5000

/**
 * Gives memory back while nothing is being written: a server that rests leaves its machine to
 * others. Whoever only reads meanwhile finds the file in the system's own memory.
 */
export function keepShrinking({ store, clock }: Pick<ServerServices, "store" | "clock">) {
  let seen = -1
  return keepRounds(clock, everyMs, async () => {
    const writes = store.log.writes()
    if (writes === seen) store.shrink()
    seen = writes
  })
}
