// Long reliability runs, for milestones: `bun scripts/reliability/run.ts [NAME…]`. They run against
// dist/latchkey, print their results, and exit with 1 on failure.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { audit, findRebuildDifferences } from "../../test/reliability/audit.ts"
import { backUpUnderLoad } from "../../test/reliability/backup/trial.ts"
import { type InterruptedCommand, interruptStart } from "../../test/reliability/bootstrap/trial.ts"
import { runKillLoop } from "../../test/reliability/kill-loop/loop.ts"
import { runModel } from "../../test/reliability/model/model.ts"
import { openCluster } from "../../test/reliability/nodes/cluster.ts"
import { type Failure, failures } from "../../test/reliability/nodes/failure.ts"
import { rollNodes } from "../../test/reliability/nodes/rolling.ts"
import { runTrial } from "../../test/reliability/nodes/trial.ts"
import { fillDatabase } from "../../test/reliability/replay/population.ts"
import { openServerFolder } from "../../test/reliability/server-folder.ts"

/** Measured figures, and the failures. */
type RunResult = {
  readonly figures: Readonly<Record<string, number>>
  readonly complaints: readonly string[]
}

const runs: Readonly<Record<string, (folder: string) => Promise<RunResult>>> = {
  "kill-loop": async (folder) => {
    const { complaints, acknowledged, unanswered, readyMs } = await runKillLoop(folder, 100)
    const figures = { rounds: 100, acknowledged, unanswered, slowestReadyMs: Math.max(...readyMs) }
    return { figures, complaints }
  },
  bootstrap: async (folder) => {
    const kills = 50
    const complaints: string[] = []
    let setUps = 0
    for (let count = 0; count < kills; count++) {
      const what: InterruptedCommand = count % 2 === 0 ? "serve" : "setup"
      const trial = await interruptStart(join(folder, `${count}`), what, randomMs(20, 320))
      complaints.push(...trial.complaints.map((text) => `kill ${count} of ${what}: ${text}`))
      if (trial.had) setUps++
    }
    return { figures: { kills, setUpsThatHadHappened: setUps }, complaints }
  },
  nodes: async (folder) => {
    const rounds = 40
    const cluster = await openCluster(folder)
    const all = Object.entries<Failure>(failures)
    const countByFailure = Array.from({ length: rounds }, (_, round) => {
      // Kills a node in every second round.
      const at = round % 2 === 0 ? 0 : 1 + (((round - 1) / 2) % (all.length - 1))
      return all
        .slice(at, at + 1)
        .map(([name, fault]) => [name, fault, randomMs(300, 7000)] as const)
    }).flat()
    const plan = { writers: 16, readers: 64, troubles: countByFailure }
    try {
      return await runTrial(cluster, plan)
    } finally {
      await cluster.stop()
    }
  },
  rolling: (folder) => rollingRestarts(folder, "haproxy"),
  "rolling-plain": (folder) => rollingRestarts(folder, "plain"),
  backup: (folder) => backUpUnderLoad(folder, 30),
  model: async () => {
    const steps = 200_000
    const { complaints, calls } = await runModel(steps, 16, Math.floor(Math.random() * 1_000_000))
    return { figures: { steps, calls }, complaints }
  },
  replay: async (folder) => {
    const events = 1_000_000
    const fixture = await openServerFolder(folder)
    const populated = await measure(() => fillDatabase(fixture.file, events))
    const audited = await measure(() => audit(fixture.file))
    const rebuilt = await measure(() => findRebuildDifferences(fixture.file))
    const restarted = await measure(async () => await fixture.start())
    await restarted.value.stop()
    const differing = rebuilt.value.map((table) => `${table} differs from its replay`)
    const figures = {
      events,
      populateMs: populated.ms,
      auditMs: audited.ms,
      rebuildMs: rebuilt.ms,
      readyMs: restarted.ms,
    }
    const slow = rebuilt.ms < 60_000 ? [] : ["rebuilding a million events takes more than a minute"]
    return { figures, complaints: [...audited.value, ...differing, ...slow] }
  },
}

async function rollingRestarts(folder: string, balancer: "haproxy" | "plain"): Promise<RunResult> {
  const outcome = await rollNodes(folder, { rounds: 10, balancer })
  const { answered, rejected, interrupted: cut, lost, slowestStopMs } = outcome
  const complaints = [
    ...[...cut].map(([what, count]) => `${count} × ${what}`),
    ...lost.map((id) => `project ${id} was acknowledged but is missing`),
  ]
  return { figures: { restarts: 20, answered, refused: rejected, slowestStopMs }, complaints }
}

const randomMs = (from: number, to: number) => from + Math.random() * (to - from)

async function measure<T>(work: () => Promise<T>) {
  const began = performance.now()
  const value = await work()
  return { value, ms: performance.now() - began }
}

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !runs[name])
  if (unknown) {
    console.error(`unknown run ${unknown}; known runs: ${Object.keys(runs).join(", ")}`)
    return 2
  }
  let wrong = 0
  for (const [name, work] of Object.entries(runs)) {
    if (names.length > 0 && !names.includes(name)) continue
    const folder = mkdtempSync(join(tmpdir(), "latchkey-reliability-"))
    const { value, ms } = await measure(() => work(folder))
    rmSync(folder, { recursive: true, force: true })
    wrong += value.complaints.length
    printResult(name, value, ms)
  }
  return wrong === 0 ? 0 : 1
}

function printResult(name: string, { figures, complaints }: RunResult, ms: number): void {
  const texts = Object.entries(figures).map(([figure, value]) => `${figure} ${Math.round(value)}`)
  const verdict = complaints.length === 0 ? "no failures" : `${complaints.length} failures`
  console.log(`${name}: ${verdict} in ${(ms / 1000).toFixed(1)} s; ${texts.join(", ")}`)
  for (const complaint of complaints) console.log(`  ${complaint}`)
}

process.exit(await main(process.argv.slice(2)))
