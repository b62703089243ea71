// What several nodes cost: `bun scripts/bench/nodes.ts [SECONDS]`, the compiled binary on a
// PostgreSQL of its own that syncs. Client, database and nodes share the machine: the CPU of each
// is told.
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from "node:fs"
import { loadavg } from "node:os"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { openClient } from "../../test/reliability/house.ts"
import { openFamilies } from "../../test/support/family.ts"
import {
  freePort,
  type Running,
  setUp,
  start,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import { type Client, call, perform } from "../../test/support/load.ts"
import { startPostgres } from "../../test/support/postgres.ts"
import { roundRobin } from "../../test/support/round-robin.ts"
import { measure } from "./figure.ts"
import { callersMax, cpuMs, many, ms, type Operations, ok, operations, row } from "./operations.ts"

const seconds = Number(process.argv[2] ?? 4)
/** Each operation of a node that has just begun, before it is measured. */
const warmSeconds = 5
let users = 0
const folder = temporaryFolder()
const postgres = startPostgres({ fsync: "on", shared_buffers: "128MB", max_connections: "60" })
const proxy = roundRobin(await freePort())
const keyFile = join(folder.path, "key")
writeFileSync(keyFile, Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 })

row(
  "load of the machine before",
  loadavg()
    .map((each) => each.toFixed(1))
    .join(" "),
  "",
)
try {
  await writes()
  await costs()
  await lagged()
} finally {
  await proxy.stop()
  postgres.remove()
  folder.remove()
}
row(
  "load of the machine after",
  loadavg()
    .map((each) => each.toFixed(1))
    .join(" "),
  "",
)

/** Folders of nodes on one log, or of a server with a log of its own. */
function folderOf(name: string, database: string | undefined): string {
  const data = join(folder.path, name)
  mkdirSync(data, { mode: 0o700 })
  const log = database === undefined ? "" : `database = "${database}"\n`
  const settings = `${log}master_key_file = "${keyFile}"\nlimits = "off"\n`
  writeFileSync(join(data, "latchkey.toml"), settings)
  return data
}

async function startNode(data: string): Promise<Running & { readonly port: number }> {
  const port = await freePort()
  return { ...(await start({ data, port })), port }
}

type Written = { readonly client: Client; readonly server: Running }

/** A server with its log in its own file, or in PostgreSQL; asked past the proxy. */
async function written(name: string, database: string | undefined): Promise<Written> {
  const data = folderOf(name, database)
  const port = await freePort()
  const url = `http://localhost:${port}`
  const key = await setUp(data, url)
  const server = await start({ data, port })
  return { server, client: await openClient(url, key) }
}

/**
 * CreateUser on the one and on the other, second by second in turns: what the disk takes for a sync
 * depends on what else the machine does.
 */
async function writes(): Promise<void> {
  const sides = [
    await written("written-alone", undefined),
    await written("written-shared", await postgres.database()),
  ]
  try {
    for (const callers of [1, 64]) await inTurns(callers, sides)
  } finally {
    await Promise.all(sides.map(({ server }) => server.stop()))
  }
}

async function inTurns(callers: number, sides: readonly Written[]): Promise<void> {
  const middles: (readonly number[])[] = []
  for (let round = -1; round < seconds; round++) {
    const p50s: number[] = []
    for (const { client } of sides) {
      p50s.push((await measure(callers, 1, () => createUser(client))).p50)
    }
    // The first is for everybody to get warm.
    if (round >= 0) middles.push(p50s)
  }
  const [local, shared] = [0, 1].map((at) => middle(middles.map((p50s) => p50s[at] ?? 0)))
  const times = middle(middles.map(([own = 1, its = 0]) => its / own))
  const more = `<= 2.5; ${ms(local ?? 0)} and ${ms(shared ?? 0)}`
  row(`a write in PostgreSQL, ${callers} at once`, `${times.toFixed(2)} times`, more)
}

function middle(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}

async function createUser(client: Client): Promise<void> {
  const id = `user-${users++}`
  ok(await perform(client, { kind: "user", id, name: id }))
}

/** CPU of the nodes for each operation, by one and by two; and how fast the second catches up. */
async function costs(): Promise<void> {
  const database = await postgres.database()
  const [first, second] = [folderOf("first", database), folderOf("second", database)]
  const key = await setUp(first, `http://localhost:${proxy.port}`)
  const one = await startNode(first)
  proxy.lead([one.port])
  const nodes = [one]
  try {
    const client = await openClient(`http://localhost:${proxy.port}`, key)
    const tried = await operations(client, await openFamilies(client))
    // Before anything is measured: lists must be as long for one node as for two.
    await measure(64, seconds * 2, () => createUser(client))
    await warm(tried)
    const alone = await costsOf(tried, nodes)
    const two = await caughtUp(second, client)
    nodes.push(two)
    proxy.lead([two.port])
    await warm(tried)
    proxy.lead(nodes.map(({ port }) => port))
    const both = await costsOf(tried, nodes)
    for (const [name, cost] of alone) {
      const times = (both.get(name) ?? 0) / cost
      row(`${name}: CPU with two nodes`, `${times.toFixed(2)} times`, "<= 1.15")
    }
  } finally {
    await Promise.all(nodes.map((node) => node.stop()))
  }
}

/** A node that has just begun compiles what it is asked often; that is not what is measured. */
async function warm(tried: Operations): Promise<void> {
  for (const work of tried.values()) await measure(callersMax, warmSeconds, work)
}

/** Milliseconds of CPU of all nodes together, for each operation. */
async function costsOf(tried: Operations, nodes: readonly Running[]) {
  const found = new Map<string, number>()
  for (const [name, work] of tried) {
    await measure(callersMax, 1, work)
    const before = cpuOf(nodes)
    let count = 0
    const { perSecond } = await measure(callersMax, seconds, async () => {
      await work()
      count++
    })
    const used = cpuOf(nodes).map((each, at) => each - (before[at] ?? 0))
    const [ours = 0, its = 0, clients = 0] = used
    const cost = ours / count
    const others = `PostgreSQL ${ms(its / count)}, client ${ms(clients / count)}`
    const how = `${many(perSecond)}/s; ${others}`
    row(`${name}, ${nodes.length} node${nodes.length > 1 ? "s" : ""}: CPU`, ms(cost), how)
    found.set(name, cost)
  }
  return found
}

/** A node that begins with nothing, from its start until it is ready. */
async function caughtUp(data: string, client: Client): Promise<Running & { port: number }> {
  const [{ position = 0 } = {}] = (await call(client, "history.ListNodes", {})).body.nodes
  const begun = performance.now()
  const node = await startNode(data)
  const took = performance.now() - begun
  const rate = `${many((Number(position) / took) * 1000)}/s`
  row(`a new node applies ${many(Number(position))} events, start and all`, rate, ">= 20,000/s")
  return node
}

/** How late another process has what is written by one, 1,000 times a second. */
async function lagged(): Promise<void> {
  const database = await postgres.database()
  const script = join(import.meta.dirname, "follower-lag.ts")
  const ended: Promise<number>[] = []
  for (const part of ["write", "follow"]) {
    const command = [process.execPath, script, part, database, `${seconds * 2}`]
    const child = Bun.spawn(command, { stdout: "inherit", stderr: "inherit" })
    ended.push(child.exited)
    await sleep(1000)
  }
  if ((await Promise.all(ended)).some((code) => code !== 0))
    throw new Error("it ended with an error")
}

/** ms of CPU that the nodes, the database and this process have had. */
function cpuOf(nodes: readonly Running[]): readonly [number, number, number] {
  const sum = (ids: readonly number[]) => ids.reduce((all, id) => all + cpuMs(id), 0)
  const { user, system } = process.cpuUsage()
  const ours = sum(nodes.flatMap((node) => node.process.pid ?? []))
  return [ours, sum(databaseProcesses()), (user + system) / 1000]
}

/** Those of our own cluster: each of them is at work in its folder. */
function databaseProcesses(): readonly number[] {
  const data = join(dirname(dirname(postgres.socket)), "data")
  return readdirSync("/proc").flatMap((name) => {
    const id = Number(name)
    return Number.isInteger(id) && folderOfProcess(id) === data ? [id] : []
  })
}

function folderOfProcess(id: number): string {
  try {
    return readlinkSync(`/proc/${id}/cwd`)
  } catch {
    return ""
  }
}
