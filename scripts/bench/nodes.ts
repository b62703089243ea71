// What several nodes cost: `bun scripts/bench/nodes.ts [SECONDS]`, the compiled binary on a
// PostgreSQL of its own that syncs. Client, database and nodes share the machine: the CPU of each
// is told. Of two cores, nodes have one and all else the other while their CPU is compared: what
// the same work takes rises with how busy the other core is, by more than what is looked for.
import { spawnSync } from "node:child_process"
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
const warmSeconds = 4
const rounds = 3
/** On each log: lists must be as long everywhere. */
const people = 10_000
let users = 0
const folder = temporaryFolder()
const postgres = startPostgres({ fsync: "on", shared_buffers: "128MB", max_connections: "60" })
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

/** Nodes on one log, and the proxy that asks them in turn. */
type Group = {
  readonly proxy: ReturnType<typeof roundRobin>
  readonly nodes: (Running & { readonly port: number })[]
}

/** What is compared: by how many processes it is done, and what is asked of them. */
type Side = { readonly nodes: readonly Running[]; readonly tried: Operations }

/**
 * CPU of the nodes for each operation: by one, by two that share a log, and by two that have
 * nothing in common. These tell what the machine itself takes for two processes at once.
 */
async function costs(): Promise<void> {
  const groups: Group[] = []
  try {
    const one = await grouped("one", groups)
    const other = await grouped("other", groups)
    const shared = await grouped("shared", groups)
    const second = await caughtUp(folderOf("second", shared.database), shared.client)
    shared.nodes.push(second)
    shared.proxy.lead([second.port])
    await warm(shared.tried)
    shared.proxy.lead(shared.nodes.map(({ port }) => port))
    const nodes = [...one.nodes, ...other.nodes]
    const apart = { nodes, tried: inTurn(one.tried, other.tried) }
    for (const { pid = 0 } of [...nodes, ...shared.nodes].map((node) => node.process)) pin(pid, 0)
    for (const pid of [process.pid, ...databaseProcesses()]) pin(pid, 1)
    for (const name of one.tried.keys()) {
      await compared(name, { "1 node": one, "2 nodes": shared, "2 apart": apart })
    }
  } finally {
    for (const { nodes, proxy } of groups) {
      await Promise.all(nodes.map((node) => node.stop()))
      await proxy.stop()
    }
  }
}

/** One node on a log of its own, warm, with as many people as the others have. */
async function grouped(name: string, groups: Group[]) {
  const database = await postgres.database()
  const data = folderOf(name, database)
  const port = await freePort()
  const url = `http://localhost:${port}`
  const key = await setUp(data, url)
  const group: Group = { proxy: roundRobin(port), nodes: [] }
  groups.push(group)
  const node = await startNode(data)
  group.nodes.push(node)
  group.proxy.lead([node.port])
  const client = await openClient(url, key)
  const tried = await operations(client, await openFamilies(client))
  let left = people
  const create = async () => {
    while (left-- > 0) await createUser(client)
  }
  await Promise.all(Array.from({ length: 64 }, create))
  await warm(tried)
  return { ...group, database, client, tried }
}

/** Keeps a process, with all its threads, on one core. */
function pin(pid: number, core: number): void {
  const { status, stderr } = spawnSync("taskset", ["-a", "-c", "-p", `${core}`, `${pid}`])
  if (status !== 0) throw new Error(`taskset: ${stderr}`)
}

/** The same operations, asked now here, now there. */
function inTurn(one: Operations, other: Operations): Operations {
  let turn = 0
  const either = (name: string) => () => (turn++ % 2 === 0 ? one : other).get(name)?.()
  return new Map([...one.keys()].map((name) => [name, async () => either(name)()]))
}

/** A node that has just begun compiles what it is asked often; that is not what is measured. */
async function warm(tried: Operations): Promise<void> {
  for (const work of tried.values()) await measure(callersMax, warmSeconds, work)
}

/** One operation on each side in turns, so that what else the machine does is the same for all. */
async function compared(name: string, sides: Readonly<Record<string, Side>>): Promise<void> {
  const found = new Map<string, readonly Cost[]>()
  for (let round = 0; round < rounds; round++) {
    for (const [side, { nodes, tried }] of Object.entries(sides)) {
      const work = tried.get(name)
      if (work) found.set(side, [...(found.get(side) ?? []), await costOf(work, nodes)])
    }
  }
  const ours = (side: string) => middle((found.get(side) ?? []).map(({ nodes }) => nodes))
  for (const [side, costs] of found) {
    const of = (what: keyof Cost) => middle(costs.map((cost) => cost[what]))
    const others = `PostgreSQL ${ms(of("database"))}, client ${ms(of("client"))}`
    row(`${name}, ${side}: CPU`, ms(ours(side)), `${many(of("perSecond"))}/s; ${others}`)
  }
  const times = (side: string) => (ours(side) / ours("1 node")).toFixed(2)
  const machine = `<= 1.15; two that share nothing ${times("2 apart")}`
  row(`${name}: CPU with two nodes`, `${times("2 nodes")} times`, machine)
}

/** Milliseconds of CPU for an operation, of all nodes together and of the others. */
type Cost = Readonly<Record<"nodes" | "database" | "client" | "perSecond", number>>

async function costOf(work: () => Promise<unknown>, nodes: readonly Running[]): Promise<Cost> {
  await measure(callersMax, 0.5, work)
  const before = cpuOf(nodes)
  let count = 0
  const { perSecond } = await measure(callersMax, seconds, async () => {
    await work()
    count++
  })
  const used = cpuOf(nodes).map((each, at) => (each - (before[at] ?? 0)) / count)
  const [ours = 0, database = 0, client = 0] = used
  return { nodes: ours, database, client, perSecond }
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
