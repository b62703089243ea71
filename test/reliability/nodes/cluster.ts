// Three nodes behind a proxy, each with its own network link to the proxy and to the database.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { freePort, type RunningServer, setUp, startLatchkey } from "../../support/latchkey.ts"
import type { Client } from "../../support/load.ts"
import { startMailServer, type TestMailServer } from "../../support/mail-server.ts"
import { type NetworkLink, openNetworkLink } from "../../support/network-link.ts"
import { type Postgres, startPostgres } from "../../support/postgres.ts"
import { startRoundRobin } from "../../support/round-robin.ts"
import { until } from "../../support/wait.ts"
import { openClient } from "../server-folder.ts"

export type ClusterNode = {
  readonly data: string
  readonly toDatabase: NetworkLink
  readonly fromProxy: NetworkLink
  readonly running: () => RunningServer
  /** Restarts it with its data directory. */
  readonly start: () => Promise<void>
  /** Sends a request to it directly; undefined if it does not answer within a second. */
  readonly ask: (path: string) => Promise<Response | undefined>
}

export type Cluster = {
  readonly nodes: readonly ClusterNode[]
  readonly client: Client
  readonly mails: TestMailServer
  /** The current primary. */
  readonly postgres: () => Postgres
  /** Connects all links to the next one; the previous one has stopped. */
  readonly moveTo: (next: Postgres) => void
  /** The rows that the primary returns for a statement. */
  readonly sql: <Row>(statement: string) => Promise<readonly Row[]>
  /** Resolves when every node reports ready. */
  readonly ready: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** The proxy gives up stalled nodes after this time. */
const proxyTimeoutMs = 8000

export async function openCluster(folder: string, count = 3): Promise<Cluster> {
  let postgres = startPostgres({ max_connections: "60" })
  const database = new URL(await postgres.database()).pathname
  const mails = await startMailServer()
  const proxy = startRoundRobin(await freePort(), { patienceMs: proxyTimeoutMs })
  const key = join(folder, "key")
  writeFileSync(key, Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 })
  const nodes: ClusterNode[] = []
  for (let at = 0; at < count; at++) {
    const data = join(folder, `node-${at}`)
    const toDatabase = openNetworkLink({ unix: postgres.socket })
    const url = `postgres://latchkey@127.0.0.1:${toDatabase.port}${database}`
    mkdirSync(data, { recursive: true, mode: 0o700 })
    const rest = 'outbound_allow = ["127.0.0.1"]\nlimits = "off"\n'
    const settings = `database = "${url}"\nmaster_key_file = "${key}"\n${rest}`
    writeFileSync(join(data, "latchkey.toml"), settings)
    nodes.push(createNode(data, toDatabase, await freePort()))
  }
  const [first] = nodes
  if (!first) throw new Error("a cluster has nodes")
  const service = await setUp(first.data, `http://localhost:${proxy.port}`)
  for (const node of nodes) await node.start()
  proxy.setPorts(nodes.map(({ fromProxy }) => fromProxy.port))
  const client = await openClient(`http://localhost:${proxy.port}`, service)
  const ready = async () => void (await Promise.all(nodes.map(waitUntilReady)))
  await ready()
  return {
    nodes,
    client,
    mails,
    ready,
    postgres: () => postgres,
    moveTo: (next) => {
      const before = postgres
      postgres = next
      for (const { toDatabase } of nodes) {
        toDatabase.redirect({ unix: next.socket })
        toDatabase.reset()
      }
      before.remove()
    },
    sql: async (statement) => {
      const sql = postgres.sql(postgres.cluster.replace("/postgres?", `${database}?`))
      try {
        return [...(await sql.unsafe(statement))]
      } finally {
        await sql.close()
      }
    },
    stop: async () => {
      await Promise.all(nodes.map((node) => node.running().stop("SIGKILL")))
      for (const { toDatabase, fromProxy } of nodes) {
        toDatabase.stop()
        fromProxy.stop()
      }
      await proxy.stop()
      await mails.close()
      postgres.remove()
    },
  }
}

function createNode(data: string, toDatabase: NetworkLink, port: number): ClusterNode {
  let running: RunningServer | undefined
  return {
    data,
    toDatabase,
    fromProxy: openNetworkLink({ port }),
    running: () => {
      if (!running) throw new Error("the node was not started")
      return running
    },
    start: async () => {
      running = await startLatchkey({ data, port })
    },
    ask: (path) =>
      fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(1000) }).catch(
        () => undefined,
      ),
  }
}

async function waitUntilReady(node: ClusterNode): Promise<void> {
  let said = "nothing"
  const isReady = async () => {
    const answer = await node.ask("/debug/ready")
    said = answer ? await answer.text() : "nothing"
    return answer?.status === 200
  }
  const what = () => `a node that is ready again; it says ${said}: ${node.running().output()}`
  await until(isReady, { what, limitMs: 60_000, intervalMs: 50 })
}
