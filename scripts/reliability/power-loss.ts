// Five hundred power cuts, where the check has fifty.
import type { Loss } from "../../test/reliability/power-loss/image.ts"
import { prepareTrials, trial } from "../../test/reliability/power-loss/trial.ts"
import { temporaryFolder } from "../../test/support/latchkey.ts"

const images = 501
const losses: readonly Loss[] = ["all", "random", "torn"]

const workshop = temporaryFolder()
const trials = prepareTrials(workshop.path, 20_000)
let complaints = 0
for (const loss of losses) {
  for (let seed = 1; seed <= images / losses.length; seed++) {
    for (const found of await trial(trials, 1000 + seed, loss)) {
      complaints++
      console.log(`BROKEN  loss ${loss}, seed ${1000 + seed}: ${found}`)
    }
  }
  console.log(`${images / losses.length} power cuts that lose ${loss}: tried`)
}
workshop.remove()
process.exit(complaints === 0 ? 0 : 1)
