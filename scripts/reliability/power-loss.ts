// Simulates 501 power cuts; the regular check simulates 50.
import type { Loss } from "../../test/reliability/power-loss/image.ts"
import { recordRun, runTrial } from "../../test/reliability/power-loss/trial.ts"
import { temporaryFolder } from "../../test/support/latchkey.ts"

const images = 501
const losses: readonly Loss[] = ["all", "random", "torn"]

const folder = temporaryFolder()
const trials = recordRun(folder.path, 20_000)
let failureCount = 0
for (const loss of losses) {
  for (let seed = 1; seed <= images / losses.length; seed++) {
    for (const failureText of await runTrial(trials, 1000 + seed, loss)) {
      failureCount++
      console.log(`BROKEN  loss ${loss}, seed ${1000 + seed}: ${failureText}`)
    }
  }
  console.log(`${images / losses.length} power cuts with loss ${loss}: tested`)
}
folder.remove()
process.exit(failureCount === 0 ? 0 : 1)
