// Fills a store with visits that are over and drops them, slice by slice, until it is killed.
import { manualClock } from "../../../src/kernel/clock.ts"
import { runPruner } from "../../../src/store/index.ts"
import { openWorld } from "../../support/world.ts"
import { begin, day, end, visitRooms, write } from "../visit.ts"

const folder = { path: process.argv[2] ?? "", remove: () => undefined }
const world = openWorld(visitRooms, folder)
const cx = () => world.cx()
await Promise.all(
  Array.from({ length: 3000 }, async (_, n) => {
    await begin(cx(), `${n}`, { name: `${n}` })
    await end(cx(), `${n}`)
  }),
)
await write(cx(), "last", "last")
const clock = manualClock(world.clock.now() + 2 * day)
const failed = (cause: unknown) => {
  throw cause
}
runPruner({
  store: world.store,
  clock,
  auditRetentionDays: 90,
  passed: () => Number.MAX_SAFE_INTEGER,
  failed,
})
clock.advance(60_000)
process.stdout.write("pruning\n")
