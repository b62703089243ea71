// What workers cost, and what they bring: `bun scripts/bench/workers.ts [SECONDS]`, the compiled
// binary on one folder, with one process and with two. Client and workers share the machine: who is
// busy is told.
import { mkdirSync, readdirSync, readFileSync } from "node:fs"
import { loadavg } from "node:os"
import { join } from "node:path"
import { openClient } from "../../test/reliability/house.ts"
import { openFamilies } from "../../test/support/family.ts"
import { freePort, setUp, start, temporaryFolder } from "../../test/support/latchkey.ts"
import { type Client, perform } from "../../test/support/load.ts"
import { measure } from "./figure.ts"
import { callersMax, cpuMs, many, ms, type Operations, ok, operations, row } from "./operations.ts"

const seconds = Number(process.argv[2] ?? 3)
const peopleMax = 2000
const folder = temporaryFolder()

told("before")
const [one, two] = await Promise.all([open(1), open(2)])
try {
  const ways = [...one.tried.keys()]
  for (const name of ways) {
    const [alone, both] = await inTurns(name, [one, two])
    for (const spent of [alone, both]) tell(name, spent)
    const times = cpu(both) / cpu(alone)
    row(`${name}: CPU with two workers`, `${times.toFixed(2)} times`, "<= 1.15")
  }
  for (const { ids } of [one, two]) {
    row(`${ids.length} at once: memory of each`, ids.map(memoryOf).join(", "), "PSS")
  }
} finally {
  await Promise.all([one, two].map(({ stop }) => stop()))
  folder.remove()
}
told("after")

type Side = {
  readonly ids: readonly number[]
  readonly tried: Operations
  readonly stop: () => Promise<unknown>
}

async function open(workers: number): Promise<Side> {
  const data = join(folder.path, `${workers}`)
  mkdirSync(data, { mode: 0o700 })
  const port = await freePort()
  const key = await setUp(data, `http://localhost:${port}`)
  const server = await start({ data, port, args: ["--workers", `${workers}`, "--limits", "off"] })
  const id = server.process.pid ?? 0
  const ids = [id, ...childrenOf(id)]
  if (ids.length !== workers) throw new Error(`${ids.length} processes answer`)
  const client = await openClient(server.url, key)
  await populate(client)
  return { ids, tried: await operations(client, await openFamilies(client)), stop: server.stop }
}

/** Lists have something to look through. */
async function populate(client: Client): Promise<void> {
  let made = 0
  const caller = async () => {
    while (made < peopleMax) {
      const id = `person-${made++}`
      ok(await perform(client, { kind: "user", id, name: id }))
    }
  }
  await Promise.all(Array.from({ length: callersMax }, caller))
}

/** What one side has spent; ms, and one number for each process, the client's last. */
type Spent = { count: number; elapsed: number; used: number[]; p50: number[]; p99: number[] }

/** The one and the other, second by second: what else the machine does is then in both. */
async function inTurns(
  name: string,
  sides: readonly [Side, Side],
): Promise<readonly [Spent, Spent]> {
  const all = sides.map(({ ids }) => {
    const none: Spent = {
      count: 0,
      elapsed: 0,
      used: Array(ids.length + 1).fill(0),
      p50: [],
      p99: [],
    }
    return none
  })
  for (let round = -1; round < seconds; round++) {
    for (const [at, { ids, tried }] of sides.entries()) {
      const work = tried.get(name)
      const spent = all[at]
      if (!work || !spent) throw new Error(`nobody tries ${name}`)
      const before = [...ids.map(cpuMs), clientMs()]
      const began = performance.now()
      let count = 0
      const { p50, p99 } = await measure(callersMax, 1, async () => {
        await work()
        count++
      })
      // The first is for everybody to get warm.
      if (round < 0) continue
      spent.count += count
      spent.elapsed += performance.now() - began
      for (const [of, now] of [...ids.map(cpuMs), clientMs()].entries()) {
        spent.used[of] = (spent.used[of] ?? 0) + now - (before[of] ?? 0)
      }
      spent.p50.push(p50)
      spent.p99.push(p99)
    }
  }
  const [alone, both] = all
  if (!alone || !both) throw new Error("there are two sides")
  return [alone, both]
}

/** ms of all processes together, for each operation. */
function cpu({ used, count }: Spent): number {
  return used.slice(0, -1).reduce((sum, each) => sum + each, 0) / count
}

function tell(name: string, spent: Spent): void {
  const { count, elapsed, used, p50, p99 } = spent
  const busy = used.map((each) => `${Math.round((each / elapsed) * 100)} %`)
  const who = `busy: ${busy.slice(0, -1).join(" and ")}, client ${busy.at(-1)}`
  const times = `p50 ${ms(middle(p50))}, p99 ${ms(middle(p99))}`
  const how = `${many((count / elapsed) * 1000)}/s, ${times}; ${who}`
  row(`${name}, ${used.length - 1} at once: CPU`, ms(cpu(spent)), how)
}

function middle(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}

function clientMs(): number {
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

function memoryOf(id: number): string {
  const told = readFileSync(`/proc/${id}/smaps_rollup`, "utf8")
  return `${Math.round(Number(/^Pss:\s+(\d+)/m.exec(told)?.[1]) / 1000)} MB`
}

function told(when: string): void {
  row(
    `load of the machine ${when}`,
    loadavg()
      .map((each) => each.toFixed(1))
      .join(" "),
    "",
  )
}
