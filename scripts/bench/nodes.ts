// Measures the cost of several nodes: `bun scripts/bench/nodes.ts [SECONDS]`, with the compiled
// binary and its own PostgreSQL, with fsync. Client, database and nodes share the machine, so their
// CPU times are printed separately. For CPU comparisons, nodes get one core and everything else the
// other: a busy neighbor core changes CPU times by more than the effect under test.
import { spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from "node:fs"
import { loadavg } from "node:os"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { openClient } from "../../test/reliability/server-folder.ts"
import {
  freePort,
  type RunningServer,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import { type Client, call, sendWrite } from "../../test/support/load.ts"
import { startPostgres } from "../../test/support/postgres.ts"
import { startRoundRobin } from "../../test/support/round-robin.ts"
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

const seconds = Number(process.argv[2] ?? 4)
/** Seconds to warm up each operation of a new node before measuring. */
const warmSeconds = 4
const rounds = 3
/** Number of users on each log: lists must have the same length everywhere. */
const userCount = 10_000
let nextUser = 0
const folder = temporaryFolder()
const postgres = startPostgres({ fsync: "on", shared_buffers: "128MB", max_connections: "60" })
const keyFile = join(folder.path, "key")
writeFileSync(keyFile, Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 })

row(
  "machine load before",
  loadavg()
    .map((each) => each.toFixed(1))
    .join(" "),
  "",
)
try {
  await compareWrites()
  await compareCosts()
  await measureLag()
} finally {
  postgres.remove()
  folder.remove()
}
row(
  "machine load after",
  loadavg()
    .map((each) => each.toFixed(1))
    .join(" "),
  "",
)

/** Creates the data directory of a node, or of a server with its own log. */
function createDataDirectory(name: string, database: string | undefined): string {
  const data = join(folder.path, name)
  mkdirSync(data, { mode: 0o700 })
  const log = database === undefined ? "" : `database = "${database}"\n`
  const settings = `${log}master_key_file = "${keyFile}"\nlimits = "off"\n`
  writeFileSync(join(data, "latchkey.toml"), settings)
  return data
}

async function startNode(data: string): Promise<RunningServer & { readonly port: number }> {
  const port = await freePort()
  return { ...(await startLatchkey({ data, port })), port }
}

type Server = { readonly client: Client; readonly server: RunningServer }

/** Starts a server with its log in a local file or in PostgreSQL, without the proxy. */
async function startServer(name: string, database: string | undefined): Promise<Server> {
  const data = createDataDirectory(name, database)
  const port = await freePort()
  const url = `http://localhost:${port}`
  const key = await setUp(data, url)
  const server = await startLatchkey({ data, port })
  return { server, client: await openClient(url, key) }
}

/**
 * CreateUser on both servers in alternating seconds, because the duration of fsync depends on what
 * else the machine does.
 */
async function compareWrites(): Promise<void> {
  const sides = [
    await startServer("written-alone", undefined),
    await startServer("written-shared", await postgres.database()),
  ]
  try {
    for (const callers of [1, 64]) await alternateWrites(callers, sides)
  } finally {
    await Promise.all(sides.map(({ server }) => server.stop()))
  }
}

async function alternateWrites(callers: number, sides: readonly Server[]): Promise<void> {
  const medians: (readonly number[])[] = []
  for (let round = -1; round < seconds; round++) {
    const medianPair: number[] = []
    for (const { client } of sides) {
      medianPair.push((await measure(callers, 1, () => createUser(client))).p50)
    }
    // The first round is a warm-up.
    if (round >= 0) medians.push(medianPair)
  }
  const [local, shared] = [0, 1].map((at) =>
    median(medians.map((medianPair) => medianPair[at] ?? 0)),
  )
  const times = median(medians.map(([localMs = 1, sharedMs = 0]) => sharedMs / localMs))
  const details = `<= 2.5; ${formatMs(local ?? 0)} and ${formatMs(shared ?? 0)}`
  row(`a write to PostgreSQL, ${callers} at once`, `${times.toFixed(2)} times`, details)
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}

async function createUser(client: Client): Promise<void> {
  const id = `user-${nextUser++}`
  requireOk(await sendWrite(client, { kind: "user", id, name: id }))
}

/** Nodes on one log, behind a round-robin proxy. */
type NodeGroup = {
  readonly proxy: ReturnType<typeof startRoundRobin>
  readonly nodes: (RunningServer & { readonly port: number })[]
}

/** One side of a comparison: its processes, and the operations to run. */
type ComparisonSide = { readonly nodes: readonly RunningServer[]; readonly tried: Operations }

/**
 * CPU time of the nodes per operation: one node, two nodes on one log, and two independent nodes.
 * The last shows what two busy processes cost on this machine anyway.
 */
async function compareCosts(): Promise<void> {
  const groups: NodeGroup[] = []
  try {
    const one = await startGroup("one", groups)
    const other = await startGroup("other", groups)
    const shared = await startGroup("shared", groups)
    const second = await startEmptyNode(
      createDataDirectory("second", shared.database),
      shared.client,
    )
    shared.nodes.push(second)
    shared.proxy.setPorts([second.port])
    await warmUp(shared.tried)
    shared.proxy.setPorts(shared.nodes.map(({ port }) => port))
    const nodes = [...one.nodes, ...other.nodes]
    const independent = { nodes, tried: alternate(one.tried, other.tried) }
    for (const { pid = 0 } of [...nodes, ...shared.nodes].map((node) => node.process))
      pinToCore(pid, 0)
    for (const pid of [process.pid, ...databaseProcesses()]) pinToCore(pid, 1)
    for (const name of one.tried.keys()) {
      await compareOperation(name, { "1 node": one, "2 nodes": shared, "2 apart": independent })
    }
  } finally {
    for (const { nodes, proxy } of groups) {
      await Promise.all(nodes.map((node) => node.stop()))
      await proxy.stop()
    }
  }
}

/** Starts one node on its own log, warms it up, and creates the users. */
async function startGroup(name: string, groups: NodeGroup[]) {
  const database = await postgres.database()
  const data = createDataDirectory(name, database)
  const port = await freePort()
  const url = `http://localhost:${port}`
  const key = await setUp(data, url)
  const group: NodeGroup = { proxy: startRoundRobin(port), nodes: [] }
  groups.push(group)
  const node = await startNode(data)
  group.nodes.push(node)
  group.proxy.setPorts([node.port])
  const client = await openClient(url, key)
  const tried = await createOperations(client, await openFamilies(client))
  let remaining = userCount
  const create = async () => {
    while (remaining-- > 0) await createUser(client)
  }
  await Promise.all(Array.from({ length: 64 }, create))
  await warmUp(tried)
  return { ...group, database, client, tried }
}

/** Pins a process, with all its threads, to one core. */
function pinToCore(pid: number, core: number): void {
  const { status, stderr } = spawnSync("taskset", ["-a", "-c", "-p", `${core}`, `${pid}`])
  if (status !== 0) throw new Error(`taskset: ${stderr}`)
}

/** The same operations, alternating between two sides. */
function alternate(one: Operations, other: Operations): Operations {
  let calls = 0
  const pickSide = (name: string) => () => (calls++ % 2 === 0 ? one : other).get(name)?.()
  return new Map([...one.keys()].map((name) => [name, async () => pickSide(name)()]))
}

/** Runs all operations: a new node still compiles hot code, which must not be measured. */
async function warmUp(tried: Operations): Promise<void> {
  for (const work of tried.values()) await measure(maxCallers, warmSeconds, work)
}

/**
 * Runs one operation on the sides in turn, so that other load on the machine affects all of them.
 */
async function compareOperation(
  name: string,
  sides: Readonly<Record<string, ComparisonSide>>,
): Promise<void> {
  const costsBySide = new Map<string, readonly Cost[]>()
  for (let round = 0; round < rounds; round++) {
    for (const [side, { nodes, tried }] of Object.entries(sides)) {
      const work = tried.get(name)
      if (work)
        costsBySide.set(side, [...(costsBySide.get(side) ?? []), await measureCost(work, nodes)])
    }
  }
  const nodeCpu = (side: string) => median((costsBySide.get(side) ?? []).map(({ nodes }) => nodes))
  for (const [side, costs] of costsBySide) {
    const of = (field: keyof Cost) => median(costs.map((cost) => cost[field]))
    const otherCpu = `PostgreSQL ${formatMs(of("database"))}, client ${formatMs(of("client"))}`
    row(
      `${name}, ${side}: CPU`,
      formatMs(nodeCpu(side)),
      `${formatCount(of("perSecond"))}/s; ${otherCpu}`,
    )
  }
  const times = (side: string) => (nodeCpu(side) / nodeCpu("1 node")).toFixed(2)
  const limit = `<= 1.15; two independent nodes ${times("2 apart")}`
  row(`${name}: CPU with two nodes`, `${times("2 nodes")} times`, limit)
}

/** CPU milliseconds per operation: of all nodes together, the database and the client. */
type Cost = Readonly<Record<"nodes" | "database" | "client" | "perSecond", number>>

async function measureCost(
  work: () => Promise<unknown>,
  nodes: readonly RunningServer[],
): Promise<Cost> {
  await measure(maxCallers, 0.5, work)
  const before = cpuTimes(nodes)
  let count = 0
  const { perSecond } = await measure(maxCallers, seconds, async () => {
    await work()
    count++
  })
  const perOperation = cpuTimes(nodes).map((each, at) => (each - (before[at] ?? 0)) / count)
  const [nodeCpu = 0, database = 0, client = 0] = perOperation
  return { nodes: nodeCpu, database, client, perSecond }
}

/** Starts a node without data; prints its speed from the start until it is ready. */
async function startEmptyNode(
  data: string,
  client: Client,
): Promise<RunningServer & { port: number }> {
  const [{ position = 0 } = {}] = (await call(client, "history.ListNodes", {})).body.nodes
  const started = performance.now()
  const node = await startNode(data)
  const took = performance.now() - started
  const rate = `${formatCount((Number(position) / took) * 1000)}/s`
  row(
    `a new node applies ${formatCount(Number(position))} events, including its start`,
    rate,
    ">= 20,000/s",
  )
  return node
}

/** Measures how late a follower receives the events of a writer, at 1,000 per second. */
async function measureLag(): Promise<void> {
  const database = await postgres.database()
  const script = join(import.meta.dirname, "follower-lag.ts")
  const exits: Promise<number>[] = []
  for (const role of ["write", "follow"]) {
    const command = [process.execPath, script, role, database, `${seconds * 2}`]
    const child = Bun.spawn(command, { stdout: "inherit", stderr: "inherit" })
    exits.push(child.exited)
    await sleep(1000)
  }
  if ((await Promise.all(exits)).some((code) => code !== 0))
    throw new Error("a process exited with an error")
}

/** CPU milliseconds of the nodes, the database and this process. */
function cpuTimes(nodes: readonly RunningServer[]): readonly [number, number, number] {
  const sum = (ids: readonly number[]) => ids.reduce((all, id) => all + cpuMs(id), 0)
  const { user, system } = process.cpuUsage()
  const nodeCpu = sum(nodes.flatMap((node) => node.process.pid ?? []))
  return [nodeCpu, sum(databaseProcesses()), (user + system) / 1000]
}

/** The processes of our PostgreSQL cluster: those whose working directory is its data directory. */
function databaseProcesses(): readonly number[] {
  const data = join(dirname(dirname(postgres.socket)), "data")
  return readdirSync("/proc").flatMap((name) => {
    const id = Number(name)
    return Number.isInteger(id) && workingDirectoryOf(id) === data ? [id] : []
  })
}

function workingDirectoryOf(id: number): string {
  try {
    return readlinkSync(`/proc/${id}/cwd`)
  } catch {
    return ""
  }
}
