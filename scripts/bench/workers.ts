// Compares one worker process with two: `bun scripts/bench/workers.ts [SECONDS]`, with the compiled
// binary on one data directory. Client and workers share the machine, so the CPU use of each is
// printed.
import { mkdirSync, readdirSync, readFileSync } from "node:fs"
import { loadavg } from "node:os"
import { join } from "node:path"
import { openClient } from "../../test/reliability/server-folder.ts"
import { freePort, setUp, startLatchkey, temporaryFolder } from "../../test/support/latchkey.ts"
import { type Client, sendWrite } from "../../test/support/load.ts"
import { openFamilies } from "../../test/support/token-family.ts"
import { measure } from "./figure.ts"
import {
  cpuMs,
  createOperations,
  formatCount,
  formatMs,
  maxCallers,
  type Operations,
  requireOk,
  row,
} from "./operations.ts"

const seconds = Number(process.argv[2] ?? 3)
const maxUsers = 2000
const folder = temporaryFolder()

printLoad("before")
const [one, two] = await Promise.all([startWorkers(1), startWorkers(2)])
try {
  const setups = [...one.tried.keys()]
  for (const name of setups) {
    const [single, both] = await alternate(name, [one, two])
    for (const spent of [single, both]) printUsage(name, spent)
    const times = cpuPerOperation(both) / cpuPerOperation(single)
    row(`${name}: CPU with two workers`, `${times.toFixed(2)} times`, "<= 1.15")
  }
  for (const { ids } of [one, two]) {
    row(`${ids.length} workers: memory of each`, ids.map(formatMemory).join(", "), "PSS")
  }
} finally {
  await Promise.all([one, two].map(({ stop }) => stop()))
  folder.remove()
}
printLoad("after")

type WorkerSetup = {
  readonly ids: readonly number[]
  readonly tried: Operations
  readonly stop: () => Promise<unknown>
}

async function startWorkers(workers: number): Promise<WorkerSetup> {
  const data = join(folder.path, `${workers}`)
  mkdirSync(data, { mode: 0o700 })
  const port = await freePort()
  const key = await setUp(data, `http://localhost:${port}`)
  const server = await startLatchkey({
    data,
    port,
    args: ["--workers", `${workers}`, "--limits", "off"],
  })
  const id = server.process.pid ?? 0
  const ids = [id, ...childrenOf(id)]
  if (ids.length !== workers)
    throw new Error(`unexpected number of worker processes: ${ids.length}`)
  const client = await openClient(server.url, key)
  await populate(client)
  return {
    ids,
    tried: await createOperations(client, await openFamilies(client)),
    stop: server.stop,
  }
}

/** Creates enough users for lists to have something to search. */
async function populate(client: Client): Promise<void> {
  let made = 0
  const caller = async () => {
    while (made < maxUsers) {
      const id = `person-${made++}`
      requireOk(await sendWrite(client, { kind: "user", id, name: id }))
    }
  }
  await Promise.all(Array.from({ length: maxCallers }, caller))
}

/** What one side used: milliseconds, one number per process; the client's is last. */
type Usage = { count: number; elapsed: number; used: number[]; p50: number[]; p99: number[] }

/** Alternates between the two sides every second, so that other load affects both. */
async function alternate(
  name: string,
  sides: readonly [WorkerSetup, WorkerSetup],
): Promise<readonly [Usage, Usage]> {
  const all = sides.map(({ ids }) => {
    const none: Usage = {
      count: 0,
      elapsed: 0,
      used: Array(ids.length + 1).fill(0),
      p50: [],
      p99: [],
    }
    return none
  })
  for (let round = -1; round < seconds; round++) {
    for (const [at, { ids, tried: operationsByName }] of sides.entries()) {
      const work = operationsByName.get(name)
      const spent = all[at]
      if (!work || !spent) throw new Error(`no operation ${name}`)
      const before = [...ids.map(cpuMs), clientCpuMs()]
      const began = performance.now()
      let count = 0
      const { p50, p99 } = await measure(maxCallers, 1, async () => {
        await work()
        count++
      })
      // The first round is a warm-up.
      if (round < 0) continue
      spent.count += count
      spent.elapsed += performance.now() - began
      for (const [of, now] of [...ids.map(cpuMs), clientCpuMs()].entries()) {
        spent.used[of] = (spent.used[of] ?? 0) + now - (before[of] ?? 0)
      }
      spent.p50.push(p50)
      spent.p99.push(p99)
    }
  }
  const [single, both] = all
  if (!single || !both) throw new Error("expected two sides")
  return [single, both]
}

/** CPU milliseconds of all processes together, per operation. */
function cpuPerOperation({ used, count }: Usage): number {
  return used.slice(0, -1).reduce((sum, each) => sum + each, 0) / count
}

function printUsage(name: string, spent: Usage): void {
  const { count, elapsed, used, p50, p99 } = spent
  const busy = used.map((each) => `${Math.round((each / elapsed) * 100)} %`)
  const who = `busy: ${busy.slice(0, -1).join(" and ")}, client ${busy.at(-1)}`
  const times = `p50 ${formatMs(median(p50))}, p99 ${formatMs(median(p99))}`
  const how = `${formatCount((count / elapsed) * 1000)}/s, ${times}; ${who}`
  row(`${name}, ${used.length - 1} at once: CPU`, formatMs(cpuPerOperation(spent)), how)
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}

function clientCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function childrenOf(parent: number): readonly number[] {
  return readdirSync("/proc").flatMap((name) => {
    const id = Number(name)
    return Number.isInteger(id) && parentOf(id) === parent ? [id] : []
  })
}

function parentOf(id: number): number {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, "utf8")
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
  } catch {
    return 0
  }
}

function formatMemory(id: number): string {
  const smaps = readFileSync(`/proc/${id}/smaps_rollup`, "utf8")
  return `${Math.round(Number(/^Pss:\s+(\d+)/m.exec(smaps)?.[1]) / 1000)} MB`
}

function printLoad(when: string): void {
  row(
    `machine load ${when}`,
    loadavg()
      .map((each) => each.toFixed(1))
      .join(" "),
    "",
  )
}
