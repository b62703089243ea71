// The long runs of the reliability tests, for milestones: `bun scripts/reliability/run.ts [NAME…]`.
// They run against dist/latchkey, print what they found, and end with 1 where something is wrong.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { audit, rebuiltOtherwise } from "../../test/reliability/audit.ts"
import { backUpUnderLoad } from "../../test/reliability/backup/trial.ts"
import { type Interrupted, interrupt } from "../../test/reliability/bootstrap/trial.ts"
import { openHouse } from "../../test/reliability/house.ts"
import { killLoop } from "../../test/reliability/kill-loop/loop.ts"
import { runModel } from "../../test/reliability/model/model.ts"
import { openCluster } from "../../test/reliability/nodes/cluster.ts"
import { rollNodes } from "../../test/reliability/nodes/rolling.ts"
import { tryNodes } from "../../test/reliability/nodes/trial.ts"
import { type Trouble, troubles } from "../../test/reliability/nodes/trouble.ts"
import { populate } from "../../test/reliability/replay/population.ts"

/** Figures to keep, and what is wrong. */
type Outcome = {
  readonly figures: Readonly<Record<string, number>>
  readonly complaints: readonly string[]
}

const runs: Readonly<Record<string, (folder: string) => Promise<Outcome>>> = {
  "kill-loop": async (folder) => {
    const { complaints, acknowledged, unanswered, readyMs } = await killLoop(folder, 100)
    const figures = { rounds: 100, acknowledged, unanswered, slowestReadyMs: Math.max(...readyMs) }
    return { figures, complaints }
  },
  bootstrap: async (folder) => {
    const kills = 50
    const complaints: string[] = []
    let setUps = 0
    for (let count = 0; count < kills; count++) {
      const what: Interrupted = count % 2 === 0 ? "serve" : "setup"
      const trial = await interrupt(join(folder, `${count}`), what, randomMs(20, 320))
      complaints.push(...trial.complaints.map((text) => `kill ${count} of ${what}: ${text}`))
      if (trial.had) setUps++
    }
    return { figures: { kills, setUpsThatHadHappened: setUps }, complaints }
  },
  nodes: async (folder) => {
    const rounds = 40
    const cluster = await openCluster(folder)
    const all = Object.entries<Trouble>(troubles)
    const befallen = Array.from({ length: rounds }, (_, round) => {
      // Every other time a node is killed.
      const at = round % 2 === 0 ? 0 : 1 + (((round - 1) / 2) % (all.length - 1))
      return all
        .slice(at, at + 1)
        .map(([name, trouble]) => [name, trouble, randomMs(300, 7000)] as const)
    }).flat()
    const plan = { writers: 16, readers: 64, troubles: befallen }
    try {
      return await tryNodes(cluster, plan)
    } finally {
      await cluster.stop()
    }
  },
  rolling: (folder) => rolled(folder, "haproxy"),
  "rolling-plain": (folder) => rolled(folder, "plain"),
  backup: (folder) => backUpUnderLoad(folder, 30),
  model: async () => {
    const steps = 200_000
    const { complaints, calls } = await runModel(steps, 16, Math.floor(Math.random() * 1_000_000))
    return { figures: { steps, calls }, complaints }
  },
  replay: async (folder) => {
    const events = 1_000_000
    const house = await openHouse(folder)
    const populated = await timed(() => populate(house.file, events))
    const audited = await timed(() => audit(house.file))
    const rebuilt = await timed(() => rebuiltOtherwise(house.file))
    const restarted = await timed(async () => await house.start())
    await restarted.value.stop()
    const otherwise = rebuilt.value.map((table) => `${table} is not what a replay makes of it`)
    const figures = {
      events,
      populateMs: populated.ms,
      auditMs: audited.ms,
      rebuildMs: rebuilt.ms,
      readyMs: restarted.ms,
    }
    const slow = rebuilt.ms < 60_000 ? [] : ["a rebuild of a million events takes a minute"]
    return { figures, complaints: [...audited.value, ...otherwise, ...slow] }
  },
}

async function rolled(folder: string, balancer: "haproxy" | "plain"): Promise<Outcome> {
  const outcome = await rollNodes(folder, { rounds: 10, balancer })
  const { answered, refused, cut, lost, slowestStopMs } = outcome
  const complaints = [
    ...[...cut].map(([what, count]) => `${count} × ${what}`),
    ...lost.map((id) => `project ${id} was acknowledged and is gone`),
  ]
  return { figures: { restarts: 20, answered, refused, slowestStopMs }, complaints }
}

const randomMs = (from: number, to: number) => from + Math.random() * (to - from)

async function timed<T>(work: () => Promise<T>) {
  const began = performance.now()
  const value = await work()
  return { value, ms: performance.now() - began }
}

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !runs[name])
  if (unknown) {
    console.error(`there is no run ${unknown}; there are: ${Object.keys(runs).join(", ")}`)
    return 2
  }
  let wrong = 0
  for (const [name, work] of Object.entries(runs)) {
    if (names.length > 0 && !names.includes(name)) continue
    const folder = mkdtempSync(join(tmpdir(), "latchkey-reliability-"))
    const { value, ms } = await timed(() => work(folder))
    rmSync(folder, { recursive: true, force: true })
    wrong += value.complaints.length
    print(name, value, ms)
  }
  return wrong === 0 ? 0 : 1
}

function print(name: string, { figures, complaints }: Outcome, ms: number): void {
  const texts = Object.entries(figures).map(([figure, value]) => `${figure} ${Math.round(value)}`)
  const verdict = complaints.length === 0 ? "nothing wrong" : `${complaints.length} wrong`
  console.log(`${name}: ${verdict} in ${(ms / 1000).toFixed(1)} s; ${texts.join(", ")}`)
  for (const complaint of complaints) console.log(`  ${complaint}`)
}

process.exit(await main(process.argv.slice(2)))
