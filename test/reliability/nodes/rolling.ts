// Two nodes behind a load balancer that are restarted one after the other while clients go on.
import { spawn } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort, type Running, setUp, start } from "../../support/latchkey.ts"
import { type Client, call, perform, type Reply, singleAssertion } from "../../support/load.ts"
import { type Postgres, startPostgres } from "../../support/postgres.ts"
import { needs } from "../../support/prerequisite.ts"
import { roundRobin } from "../../support/round-robin.ts"
import { pause, until } from "../../support/wait.ts"
import { openClient } from "../house.ts"

export type RollingOutcome = {
  readonly answered: number
  /** Calls that broke off, or that no node answered, and how often. */
  readonly cut: ReadonlyMap<string, number>
  /** Calls that a node refused because PostgreSQL took more than a second; each was repeated. */
  readonly refused: number
  /** Projects that a client was told exist, and that are not there. */
  readonly lost: readonly string[]
  /** What the nodes printed while they ran. */
  readonly output: string
  readonly slowestStopMs: number
}

const writers = 12
const readers = 12

type Rolling = {
  readonly rounds: number
  /** HAProxy keeps connections and looks at readiness; the plain one only passes over refusals. */
  readonly balancer: "haproxy" | "plain"
  /** Another executable than the binary. */
  readonly program?: string
}

/** Restarts both nodes, one after the other, so many times. */
export async function rollNodes(
  folder: string,
  { rounds, balancer, program }: Rolling,
): Promise<RollingOutcome> {
  const postgres = startPostgres()
  const port = await freePort()
  const nodes = await nodesOn(folder, postgres, program)
  let stopBalancer: (() => unknown) | undefined
  try {
    const url = `http://localhost:${port}`
    const key = await setUp(nodes.dataOf(0), url, program)
    for (const at of nodes.ports.keys()) await nodes.start(at)
    const open = balancer === "haproxy" ? haproxy : plain
    stopBalancer = await open(folder, port, nodes.ports)
    const client = await openClient(url, key)
    const crowd = startCrowd(client, balancer === "haproxy" ? 800 : 200)
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
    const lost = await missing(client, crowd.projects)
    return {
      answered: answered(),
      refused: refused(),
      cut,
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

async function nodesOn(folder: string, postgres: Postgres, program: string | undefined) {
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
  const running = new Map<number, Running>()
  let before = ""
  return {
    ports,
    dataOf,
    start: async (at: number) => {
      const port = ports[at] ?? 0
      running.set(at, await start({ data: dataOf(at), port, ...(program && { program }) }))
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

/** It keeps connections to the nodes, uses whichever is idle, and sends nothing a second time. */
async function haproxy(
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

/** It opens a connection for each request, and sends what a node has accepted nowhere else. */
async function plain(_: string, port: number, ports: readonly number[]): Promise<() => unknown> {
  const { lead, stop } = roundRobin(port)
  lead(ports)
  return stop
}

function startCrowd(client: Client, pauseMsMax: number) {
  const cut = new Map<string, number>()
  const projects: string[] = []
  let [answered, refused, count, isOver] = [0, 0, 0, false]
  const note = (what: string) => void cut.set(what, (cut.get(what) ?? 0) + 1)
  const tell = async (what: string, ask: () => Promise<Reply>): Promise<boolean> => {
    try {
      const { status, body } = await ask()
      const isUnseen = status === 503 && JSON.stringify(body).includes("store.log_unseen")
      if (isUnseen) {
        refused++
        return await tell(what, ask)
      }
      if (status !== 200) note(`${what}: ${status} ${JSON.stringify(body)}`)
      else answered++
      return status === 200
    } catch (cause) {
      note(`${what}: ${cause}`)
      return false
    }
  }
  const write = async () => {
    const at = count++
    const id = `p${at}`
    const isThere = await tell("write", () => perform(client, { kind: "project", id, name: id }))
    if (isThere) projects.push(id)
    // To sign it, and what is given for it, costs more than all other calls together.
    if (at % 4 > 0) return
    const assertion = await singleAssertion(client)
    await tell("token", () => perform(client, { kind: "token", assertion }))
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

async function missing(client: Client, projects: readonly string[]): Promise<readonly string[]> {
  const lost: string[] = []
  for (const projectId of projects) {
    const { status } = await call(client, "project.GetProject", { projectId })
    if (status !== 200) lost.push(projectId)
  }
  return lost
}
