// Fills a store with expired visits and deletes them in slices until it is killed.
import { manualClock } from "../../../src/kernel/clock.ts"
import { runPruner } from "../../../src/store/index.ts"
import { openTestEnvironment } from "../../support/test-environment.ts"
import { beginVisit, day, endVisit, visitModules, writeEntry } from "../visit.ts"

const folder = { path: process.argv[2] ?? "", remove: () => undefined }
const world = openTestEnvironment(visitModules, folder)
const cx = () => world.cx()
await Promise.all(
  Array.from({ length: 3000 }, async (_, n) => {
    await beginVisit(cx(), `${n}`, { name: `${n}` })
    await endVisit(cx(), `${n}`)
  }),
)
await writeEntry(cx(), "last", "last")
const clock = manualClock(world.clock.now() + 2 * day)
const throwCause = (cause: unknown) => {
  throw cause
}
runPruner({
  store: world.store,
  clock,
  auditRetentionDays: 90,
  passed: () => Number.MAX_SAFE_INTEGER,
  failed: throwCause,
})
clock.advance(60_000)
process.stdout.write("pruning\n")
