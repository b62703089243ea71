// Two nodes with a shared log and an audit collector: one node sends at a time.
import { Database } from "bun:sqlite"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { connect, humanInput } from "../acceptance/service.ts"
import {
  freePort,
  type RunningServer,
  run,
  type ServiceKey,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { type Postgres, startPostgres } from "../support/postgres.ts"
import { needs } from "../support/prerequisite.ts"
import { type RoundRobin, startRoundRobin } from "../support/round-robin.ts"
import { until } from "../support/wait.ts"

describe.runIf(needs("postgres"))("the audit log of two nodes", () => {
  const folder = temporaryFolder()
  const dataOf = (at: number) => join(folder.path, `node-${at}`)
  const received: { readonly key: string; readonly body: string }[] = []
  const receiver = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const key = request.headers.get("idempotency-key") ?? ""
      received.push({ key, body: await request.text() })
      return new Response(null, { status: 204 })
    },
  })
  let postgres: Postgres
  let proxy: RoundRobin
  let key: ServiceKey
  let ports: readonly number[] = []
  const nodes: RunningServer[] = []
  const startNode = (at: number) => startLatchkey({ data: dataOf(at), port: ports[at] ?? 0 })

  beforeAll(async () => {
    postgres = startPostgres()
    writeFileSync(join(folder.path, "key"), Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 })
    const database = await postgres.database()
    ports = [await freePort(), await freePort()]
    for (const at of ports.keys()) {
      mkdirSync(dataOf(at), { recursive: true, mode: 0o700 })
      const settings = [
        `database = "${database}"`,
        `master_key_file = "${join(folder.path, "key")}"`,
        `audit_collector = "http://127.0.0.1:${receiver.port}/in"`,
        'outbound_allow = "127.0.0.1"',
        'limits = "off"',
      ]
      writeFileSync(join(dataOf(at), "latchkey.toml"), settings.map((line) => `${line}\n`).join(""))
    }
    proxy = startRoundRobin(await freePort())
    key = await setUp(dataOf(0), `http://localhost:${proxy.port}`)
    for (const at of ports.keys()) nodes.push(await startNode(at))
  })

  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop("SIGKILL")))
    await Promise.all([receiver.stop(true), proxy.stop()])
    postgres.remove()
    folder.remove()
  })

  const comesTrue = (label: string, holds: () => boolean | Promise<boolean>) =>
    until(holds, {
      what: () => `${label}:\n${nodes[1]?.output()}`,
      limitMs: 90_000,
      intervalMs: 50,
    })

  let people = 0
  /** Adds a user through one of the nodes. */
  async function addPerson(at: number): Promise<string> {
    proxy.setPorts(ports.slice(at, at + 1))
    const url = `http://localhost:${proxy.port}`
    const token = await serviceToken(url, key)
    const name = `collected${++people}`
    const { body } = await connect(url, "ListOrganizations", { request: {}, token })
    const request = { organizationId: body.result[0].id, username: name, human: humanInput(name) }
    const made = await connect(url, "CreateUser", { request, token })
    expect(made.status).toBe(200)
    return made.body.id
  }

  const lines = () => received.flatMap(({ body }) => body.trimEnd().split("\n"))
  const tells = (id: string) => () => lines().some((line) => line.includes(`"id":"${id}"`))
  const positions = () =>
    lines().flatMap((line) => {
      const { position } = JSON.parse(line)
      return typeof position === "number" ? [position] : []
    })
  const works = (at: number) => / this node is the leader/.test(nodes[at]?.output() ?? "")

  /** The position up to which a node has recorded that everything is sent. */
  function toldTo(at: number): number {
    const file = new Database(join(dataOf(at), "latchkey.db"), { readonly: true })
    try {
      const rows = file
        .query<{ position: number }, []>(
          "SELECT position FROM reactor WHERE name LIKE 'collector/%' AND name NOT LIKE '%/%/%'",
        )
        .all()
      return rows[0]?.position ?? 0
    } finally {
      file.close()
    }
  }

  test("is sent by one, and the other knows what it need not keep", async () => {
    const ids = [await addPerson(0), await addPerson(1)]
    for (const id of ids) await comesTrue("the person is told of", tells(id))
    expect([works(0), works(1)].filter(Boolean)).toHaveLength(1)
    const follower = works(0) ? 1 : 0
    const last = Math.max(...positions())
    await comesTrue("the other one knows", () => toldTo(follower) >= last)
    expect(new Set(positions()).size).toBe(positions().length)
  })

  test("is sent by the other one after kill -9, without a gap", async () => {
    for (let round = 0; round < 2; round++) {
      const leader = works(0) && nodes[0]?.process.exitCode === null ? 0 : 1
      const other = 1 - leader
      const before = await addPerson(leader)
      await nodes[leader]?.stop("SIGKILL")
      const after = await addPerson(other)
      await comesTrue("both are told of", () => tells(before)() && tells(after)())
      await comesTrue("it works", () => works(other))
      nodes[leader] = await startNode(leader)
    }
    const file = `${folder.path}/own`
    const exported = await run(["events", "export", file, "--data", dataOf(0)])
    expect(exported.code).toBe(0)
    const own = [...(await Bun.file(file).text()).matchAll(/"position":(\d+),/g)]
    const theirs = [...new Set(positions())].toSorted((a, b) => a - b)
    const ours = own.map(([, position]) => Number(position))
    // The export itself is recorded as an event.
    expect(theirs).toEqual(ours.slice(0, theirs.length))
    expect(ours.length - theirs.length).toBeLessThan(5)
  })
})
