// Two nodes behind a load balancer, restarted in turn while clients continue.
import { spawn } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort, type RunningServer, setUp, startLatchkey } from "../../support/latchkey.ts"
import {
  type Client,
  call,
  createSingleUseAssertion,
  type Reply,
  sendWrite,
} from "../../support/load.ts"
import { type Postgres, startPostgres } from "../../support/postgres.ts"
import { needs } from "../../support/prerequisite.ts"
import { startRoundRobin } from "../../support/round-robin.ts"
import { pause, until } from "../../support/wait.ts"
import { openClient } from "../server-folder.ts"

export type RollingOutcome = {
  readonly answered: number
  /** Calls that were interrupted or not answered by any node, with their number. */
  readonly interrupted: ReadonlyMap<string, number>
  /** Calls that a node rejected because PostgreSQL took more than a second; each was repeated. */
  readonly rejected: number
  /** Projects that were acknowledged and are missing. */
  readonly lost: readonly string[]
  /** The output of the nodes. */
  readonly output: string
  readonly slowestStopMs: number
}

const writers = 12
const readers = 12

type RollingOptions = {
  readonly rounds: number
  /**
   * HAProxy keeps connections and checks readiness; the plain one only skips nodes that refuse
   * connections.
   */
  readonly balancer: "haproxy" | "plain"
  /** An executable instead of the built binary. */
  readonly program?: string
}

/** Restarts both nodes in turn, for each round. */
export async function rollNodes(
  folder: string,
  { rounds, balancer, program }: RollingOptions,
): Promise<RollingOutcome> {
  const postgres = startPostgres()
  const port = await freePort()
  const nodes = await startNodes(folder, postgres, program)
  let stopBalancer: (() => unknown) | undefined
  try {
    const url = `http://localhost:${port}`
    const key = await setUp(nodes.dataOf(0), url, program)
    for (const at of nodes.ports.keys()) await nodes.start(at)
    const open = balancer === "haproxy" ? startHaproxy : startPlainBalancer
    stopBalancer = await open(folder, port, nodes.ports)
    const client = await openClient(url, key)
    const crowd = startClients(client, balancer === "haproxy" ? 800 : 200)
    let slowestStopMs = 0
    for (let round = 0; round < rounds; round++) {
      for (const at of nodes.ports.keys()) {
        const begun = performance.now()
        await nodes.stop(at)
        slowestStopMs = Math.max(slowestStopMs, performance.now() - begun)
        await nodes.start(at)
        await pause(700, "HAProxy must see that the node is ready, and tells nobody so")
      }
    }
    await crowd.stop()
    const { answered, refused, cut } = crowd
    const lost = await findMissing(client, crowd.projects)
    return {
      answered: answered(),
      rejected: refused(),
      interrupted: cut,
      lost,
      output: nodes.output(),
      slowestStopMs,
    }
  } finally {
    await stopBalancer?.()
    await nodes.end()
    postgres.remove()
  }
}

async function startNodes(folder: string, postgres: Postgres, program: string | undefined) {
  const database = await postgres.database()
  const ports = [await freePort(), await freePort()]
  const key = join(folder, "key")
  writeFileSync(key, Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 })
  const dataOf = (at: number) => join(folder, `node-${at}`)
  for (const at of ports.keys()) {
    mkdirSync(dataOf(at), { recursive: true, mode: 0o700 })
    const settings = `database = "${database}"\nmaster_key_file = "${key}"\nlimits = "off"\n`
    writeFileSync(join(dataOf(at), "latchkey.toml"), settings)
  }
  const running = new Map<number, RunningServer>()
  let before = ""
  return {
    ports,
    dataOf,
    start: async (at: number) => {
      const port = ports[at] ?? 0
      running.set(at, await startLatchkey({ data: dataOf(at), port, ...(program && { program }) }))
      const isReady = async () => (await fetch(`http://127.0.0.1:${port}/debug/ready`)).ok
      await until(isReady, { what: "the node to be ready" })
    },
    stop: async (at: number) => {
      const code = await running.get(at)?.stop()
      before += running.get(at)?.output() ?? ""
      running.delete(at)
      if (code !== 0) throw new Error(`a node ended with ${code}: ${before}`)
    },
    output: () => before + [...running.values()].map((each) => each.output()).join(""),
    end: () => Promise.all([...running.values()].map((each) => each.stop("SIGKILL"))),
  }
}

/** HAProxy reuses idle connections to the nodes, and repeats no request. */
async function startHaproxy(
  folder: string,
  port: number,
  ports: readonly number[],
): Promise<() => unknown> {
  const servers = ports.map((each) => `  server node${each} 127.0.0.1:${each} check`)
  const file = join(folder, "haproxy.cfg")
  writeFileSync(
    file,
    [
      "defaults",
      "  mode http",
      "  timeout connect 1s",
      "  timeout client 30s",
      "  timeout server 30s",
      "  timeout http-keep-alive 30s",
      "  http-reuse always",
      "frontend in",
      `  bind 127.0.0.1:${port}`,
      "  default_backend nodes",
      "backend nodes",
      "  balance roundrobin",
      "  option httpchk GET /debug/ready",
      "  option redispatch 1",
      "  retries 3",
      "  timeout check 2s",
      "  default-server inter 500ms fall 3 rise 1",
      ...servers,
      "",
    ].join("\n"),
  )
  const child = spawn(needs("haproxy") ?? "haproxy", ["-db", "-f", file], { stdio: "pipe" })
  let said = ""
  child.stderr.on("data", (chunk) => (said += chunk))
  const isUp = async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok
  await until(() => isUp().catch(() => false), { what: () => `HAProxy: ${said}` })
  return () => child.kill("SIGKILL")
}

/** Opens a connection per request, and sends accepted requests to no other node. */
async function startPlainBalancer(
  _: string,
  port: number,
  ports: readonly number[],
): Promise<() => unknown> {
  const { setPorts: lead, stop } = startRoundRobin(port)
  lead(ports)
  return stop
}

function startClients(client: Client, pauseMsMax: number) {
  const cut = new Map<string, number>()
  const projects: string[] = []
  let [answered, refused, count, isOver] = [0, 0, 0, false]
  const note = (label: string) => void cut.set(label, (cut.get(label) ?? 0) + 1)
  const tell = async (label: string, ask: () => Promise<Reply>): Promise<boolean> => {
    try {
      const { status, body } = await ask()
      const isUnseen = status === 503 && JSON.stringify(body).includes("store.log_unseen")
      if (isUnseen) {
        refused++
        return await tell(label, ask)
      }
      if (status !== 200) note(`${label}: ${status} ${JSON.stringify(body)}`)
      else answered++
      return status === 200
    } catch (cause) {
      note(`${label}: ${cause}`)
      return false
    }
  }
  const write = async () => {
    const at = count++
    const id = `p${at}`
    const isThere = await tell("write", () => sendWrite(client, { kind: "project", id, name: id }))
    if (isThere) projects.push(id)
    // Signing it, and its token, cost more than all other calls together.
    if (at % 4 > 0) return
    const assertion = await createSingleUseAssertion(client)
    await tell("token", () => sendWrite(client, { kind: "token", assertion }))
  }
  const read = () => tell("read", () => call(client, "org.ListOrganizations", {}))
  const loop = async (work: () => Promise<unknown>) => {
    while (!isOver) {
      await work()
      await pause(Math.random() * pauseMsMax, "connections must be idle for some time")
    }
  }
  const working = [
    ...Array.from({ length: writers }, () => loop(write)),
    ...Array.from({ length: readers }, () => loop(read)),
  ]
  return {
    cut,
    projects,
    answered: () => answered,
    refused: () => refused,
    stop: async () => {
      isOver = true
      await Promise.all(working)
    },
  }
}

async function findMissing(
  client: Client,
  projects: readonly string[],
): Promise<readonly string[]> {
  const lost: string[] = []
  for (const projectId of projects) {
    const { status } = await call(client, "project.GetProject", { projectId })
    if (status !== 200) lost.push(projectId)
  }
  return lost
}
