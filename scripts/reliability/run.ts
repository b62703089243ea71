// What the check does in small, at full length; for milestones: `bun scripts/reliability/run.ts`.
// It needs the compiled binary and gcc, and writes into temporary folders only.
import { killLoop } from "../../test/reliability/kill.ts"
import type { Loss } from "../../test/reliability/power-loss/image.ts"
import { prepareTrials, trial } from "../../test/reliability/power-loss/trial.ts"
import { replayDifferences } from "../../test/reliability/replay.ts"
import { temporaryFolder } from "../../test/support/latchkey.ts"

const rounds = 100
const images = 500
const losses: readonly Loss[] = ["all", "random", "torn"]

let complaints = 0
await kill()
await cutPower()
console.log(complaints === 0 ? "\nevery promise was kept" : `\n${complaints} complaints`)
process.exit(complaints === 0 ? 0 : 1)

async function kill(): Promise<void> {
  const killed = await killLoop(rounds, 1500)
  const { acknowledged, readyMsMax } = killed
  report(
    `R-01  ${rounds} kills, ${acknowledged} acknowledged, ready in ${readyMsMax.toFixed(0)} ms at most`,
    killed.complaints,
  )
  for (let round = 1; round <= 3; round++) {
    report(`R-10  replay ${round}`, await replayDifferences(killed.database))
  }
  killed.remove()
}

async function cutPower(): Promise<void> {
  const workshop = temporaryFolder()
  const trials = prepareTrials(workshop.path, 20_000)
  for (const loss of losses) {
    const found: string[] = []
    for (let seed = 1; seed <= images / losses.length; seed++) {
      for (const each of await trial(trials, 1000 + seed, loss)) found.push(`seed ${seed}: ${each}`)
    }
    report(`R-02  ${Math.floor(images / losses.length)} power cuts that lose ${loss}`, found)
  }
  workshop.remove()
}

function report(what: string, found: readonly string[]): void {
  complaints += found.length
  console.log(`${found.length === 0 ? "ok    " : "BROKEN"}  ${what}`)
  for (const each of found.slice(0, 20)) console.log(`        ${each}`)
}
