import { writeFileSync } from "node:fs"
import { afterAll, beforeAll, expect, test } from "vitest"
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
import { pause, until } from "../support/wait.ts"
import { connect, humanInput } from "./service.ts"

type Batch = { readonly key: string; readonly body: string; readonly headers: Headers }
/** How the receiver responds to a batch; it stores the batch in every case. */
type ReceiverMode = "takes" | "fails" | "redirects" | "hangs" | "floods" | "talks"

const folder = temporaryFolder()
const data = `${folder.path}/data`
const received: Batch[] = []
let receiverMode: ReceiverMode = "takes"
const answers: Readonly<Record<ReceiverMode, () => Response | Promise<Response>>> = {
  takes: () => new Response(null, { status: 204 }),
  fails: () => new Response("down for repair", { status: 503 }),
  redirects: () => Response.redirect(`http://127.0.0.1:${receiver.port}/elsewhere`, 307),
  hangs: () => new Promise<Response>(() => undefined),
  floods: () => new Response("x".repeat(20_000_000)),
  talks: () => new Response("\0<html>{", { headers: { "content-type": "application/json" } }),
}
const redirectedRequests: string[] = []
const receiver = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch: async (request) => {
    if (new URL(request.url).pathname !== "/in") {
      redirectedRequests.push(request.url)
      return new Response()
    }
    const key = request.headers.get("idempotency-key") ?? ""
    received.push({ key, body: await request.text(), headers: request.headers })
    return answers[receiverMode]()
  },
})

let port: number
let key: ServiceKey
let server: RunningServer
const authorization = "Bearer collector-secret-of-ours"

beforeAll(async () => {
  port = await freePort()
  key = await setUp(data, `http://localhost:${port}`)
  writeFileSync(
    `${data}/latchkey.toml`,
    `audit_collector = "http://127.0.0.1:${receiver.port}/in"\n` +
      `audit_collector_authorization = "${authorization}"\n` +
      'outbound_allow = "127.0.0.1"\n',
  )
  server = await startLatchkey({ data, port })
})
afterAll(async () => {
  await server.stop("SIGKILL")
  await receiver.stop(true)
  folder.remove()
})

const waitFor = (label: string, holds: () => boolean | Promise<boolean>) =>
  until(holds, { what: () => `${label}:\n${server.output()}`, limitMs: 90_000, intervalMs: 50 })

let people = 0
async function addPerson(): Promise<string> {
  const token = await serviceToken(server.url, key)
  const name = `collected${++people}`
  const { body } = await connect(server.url, "ListOrganizations", { request: {}, token })
  const request = { organizationId: body.result[0].id, username: name, human: humanInput(name) }
  const made = await connect(server.url, "CreateUser", { request, token })
  expect(made.status).toBe(200)
  return made.body.id
}

/** The stored lines after deduplication by batch key. */
const deduplicatedLines = () =>
  [...new Map(received.map((batch) => [batch.key, batch.body])).values()].join("")
const hasEventOf = (id: string) => () => deduplicatedLines().includes(`"id":"${id}"`)
const doctor = async () => (await run(["doctor", "--data", data])).output

/** Requires all lines in order, once each, with valid seals. */
async function expectComplete(): Promise<void> {
  const file = `${folder.path}/collected`
  writeFileSync(file, deduplicatedLines())
  const keyFile = `${folder.path}/key`
  const named = await run(["events", "key", "--json", "--data", data])
  writeFileSync(keyFile, named.output)
  const verified = await run(["events", "verify", file, "--key", keyFile])
  expect(verified).toMatchObject({ code: 0, output: expect.stringContaining("is valid: ") })
  const own = `${folder.path}/own`
  expect((await run(["events", "export", own, "--data", data])).code).toBe(0)
  const positions = (text: string) =>
    [...text.matchAll(/"position":(\d+),/g)].map(([, position]) => Number(position))
  const ours = positions(await Bun.file(own).text())
  const theirs = positions(deduplicatedLines())
  expect(theirs).toEqual(ours.slice(0, theirs.length))
  expect(theirs.length).toBeGreaterThan(20)
}

test("events are sent in order, sealed, with the configured header", async () => {
  const id = await addPerson()
  await waitFor("the person is told of", hasEventOf(id))
  const [first] = received
  expect(first?.body).toMatch(/^\{"latchkey":"events"/)
  expect(Object.fromEntries(first?.headers ?? [])).toMatchObject({
    authorization,
    "content-type": "application/x-ndjson",
    "idempotency-key": expect.stringMatching(/^"[\w-]{43}"$/),
    "latchkey-instance": expect.stringMatching(/./),
  })
  for (const { body } of received) expect(body).toMatch(/\n\{"seal":"[^\n]*"\}\n$/)
  expect(deduplicatedLines()).not.toContain("collected1@")
  expect(await doctor()).toMatch(/ok +audit/)
  expect((await run(["config", "--data", data])).output).not.toContain("collector-secret")
  await expectComplete()
})

test.each<[ReceiverMode, string]>([
  ["fails", "the collector returned status 503"],
  ["redirects", "the collector returned status 307"],
  ["hangs", "no response within 15 seconds"],
  ["floods", "the response is larger than"],
])(
  "a collector that %s receives the batch again, and the doctor reports it",
  async (bad, reason) => {
    receiverMode = bad
    const before = received.length
    const id = await addPerson()
    await waitFor("it was tried", () => received.length > before)
    await waitFor("the doctor tells", async () => (await doctor()).includes(reason))
    expect(await doctor()).toMatch(/WRONG +audit/)
    expect((await fetch(`${server.url}/debug/ready`)).status).toBe(200)
    receiverMode = "takes"
    await waitFor("it is taken", async () => /ok +audit/.test(await doctor()))
    await waitFor("the person is told of", hasEventOf(id))
    const tries = received.slice(before)
    const [first] = tries
    expect(tries[1]).toMatchObject({ key: first?.key, body: first?.body })
    expect(redirectedRequests).toEqual([])
    await expectComplete()
  },
  240_000,
)

test("any 2xx response acknowledges the batch", async () => {
  receiverMode = "talks"
  const id = await addPerson()
  await waitFor("the person is told of", hasEventOf(id))
  const count = received.length
  await pause(1500, "nothing more may be sent, and nothing signals that it was not")
  expect(received.length).toBe(count)
  receiverMode = "takes"
})

test("kill -9 during a batch loses nothing; the batch is repeated with the same key", async () => {
  for (let round = 0; round < 4; round++) {
    receiverMode = round % 2 === 0 ? "hangs" : "takes"
    const before = received.length
    const id = await addPerson()
    if (round % 2 === 0) await waitFor("a batch is under way", () => received.length > before)
    await server.stop("SIGKILL")
    receiverMode = "takes"
    server = await startLatchkey({ data, port })
    const later = await addPerson()
    await waitFor("both are told of", () => hasEventOf(id)() && hasEventOf(later)())
    const tries = received.slice(before)
    if (round % 2 === 0)
      expect(tries[1]).toMatchObject({ key: tries[0]?.key, body: tries[0]?.body })
  }
  await expectComplete()
}, 240_000)

test("addresses that only this machine reaches are not called unless allowed", async () => {
  await server.stop()
  const count = received.length
  writeFileSync(
    `${data}/latchkey.toml`,
    `audit_collector = "http://127.0.0.1:${receiver.port}/in"\n`,
  )
  server = await startLatchkey({ data, port })
  await addPerson()
  await waitFor("the doctor tells", async () => (await doctor()).includes("outbound_allow"))
  expect(server.output()).toMatch(/could not be collected: .*127\.0\.0\.1 is not a host/)
  expect(received.length).toBe(count)
})
