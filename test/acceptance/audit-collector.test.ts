import { writeFileSync } from "node:fs"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  freePort,
  type Running,
  run,
  type ServiceKey,
  serviceToken,
  setUp,
  start,
  temporaryFolder,
} from "../support/latchkey.ts"
import { pause, until } from "../support/wait.ts"
import { connect, personOf } from "./service.ts"

type Batch = { readonly key: string; readonly body: string; readonly headers: Headers }
/** What the receiver does with a batch; whatever it answers, it has kept the batch. */
type Mood = "takes" | "fails" | "redirects" | "hangs" | "floods" | "talks"

const folder = temporaryFolder()
const data = `${folder.path}/data`
const received: Batch[] = []
let mood: Mood = "takes"
const answers: Readonly<Record<Mood, () => Response | Promise<Response>>> = {
  takes: () => new Response(null, { status: 204 }),
  fails: () => new Response("down for repair", { status: 503 }),
  redirects: () => Response.redirect(`http://127.0.0.1:${receiver.port}/elsewhere`, 307),
  hangs: () => new Promise<Response>(() => undefined),
  floods: () => new Response("x".repeat(20_000_000)),
  talks: () => new Response("\0<html>{", { headers: { "content-type": "application/json" } }),
}
const elsewhere: string[] = []
const receiver = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch: async (request) => {
    if (new URL(request.url).pathname !== "/in") {
      elsewhere.push(request.url)
      return new Response()
    }
    const key = request.headers.get("idempotency-key") ?? ""
    received.push({ key, body: await request.text(), headers: request.headers })
    return answers[mood]()
  },
})

let port: number
let key: ServiceKey
let server: Running
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
  server = await start({ data, port })
})
afterAll(async () => {
  await server.stop("SIGKILL")
  await receiver.stop(true)
  folder.remove()
})

const comesTrue = (what: string, holds: () => boolean | Promise<boolean>) =>
  until(holds, { what: () => `${what}:\n${server.output()}`, limitMs: 90_000, intervalMs: 50 })

let people = 0
async function addPerson(): Promise<string> {
  const token = await serviceToken(server.url, key)
  const name = `collected${++people}`
  const { body } = await connect(server.url, "ListOrganizations", { request: {}, token })
  const request = { organizationId: body.result[0].id, username: name, human: personOf(name) }
  const made = await connect(server.url, "CreateUser", { request, token })
  expect(made.status).toBe(200)
  return made.body.id
}

/** What whoever drops repetitions by their key has. */
const kept = () => [...new Map(received.map((batch) => [batch.key, batch.body])).values()].join("")
const tells = (id: string) => () => kept().includes(`"id":"${id}"`)
const doctor = async () => (await run(["doctor", "--data", data])).output

/** All lines are there, in order, once, and under their seals. */
async function mustBeWhole(): Promise<void> {
  const file = `${folder.path}/collected`
  writeFileSync(file, kept())
  const keyFile = `${folder.path}/key`
  const named = await run(["events", "key", "--json", "--data", data])
  writeFileSync(keyFile, named.output)
  const verified = await run(["events", "verify", file, "--key", keyFile])
  expect(verified).toMatchObject({ code: 0, output: expect.stringContaining("is as it was") })
  const own = `${folder.path}/own`
  expect((await run(["events", "export", own, "--data", data])).code).toBe(0)
  const positions = (text: string) =>
    [...text.matchAll(/"position":(\d+),/g)].map(([, position]) => Number(position))
  const ours = positions(await Bun.file(own).text())
  const theirs = positions(kept())
  expect(theirs).toEqual(ours.slice(0, theirs.length))
  expect(theirs.length).toBeGreaterThan(20)
}

test("what happens is sent in order, sealed, with the header that was configured", async () => {
  const id = await addPerson()
  await comesTrue("the person is told of", tells(id))
  const [first] = received
  expect(first?.body).toMatch(/^\{"latchkey":"events"/)
  expect(Object.fromEntries(first?.headers ?? [])).toMatchObject({
    authorization,
    "content-type": "application/x-ndjson",
    "idempotency-key": expect.stringMatching(/^"[\w-]{43}"$/),
    "latchkey-instance": expect.stringMatching(/./),
  })
  for (const { body } of received) expect(body).toMatch(/\n\{"seal":"[^\n]*"\}\n$/)
  expect(kept()).not.toContain("collected1@")
  expect(await doctor()).toMatch(/ok +audit/)
  expect((await run(["config", "--data", data])).output).not.toContain("collector-secret")
  await mustBeWhole()
})

test.each<[Mood, string]>([
  ["fails", "it was answered with 503"],
  ["redirects", "it was answered with 307"],
  ["hangs", "no answer within 15 seconds"],
  ["floods", "the answer is larger than"],
])(
  "a collector that %s has the same sent again, and the doctor says so",
  async (bad, why) => {
    mood = bad
    const before = received.length
    const id = await addPerson()
    await comesTrue("it was tried", () => received.length > before)
    await comesTrue("the doctor tells", async () => (await doctor()).includes(why))
    expect(await doctor()).toMatch(/WRONG +audit/)
    expect((await fetch(`${server.url}/debug/ready`)).status).toBe(200)
    mood = "takes"
    await comesTrue("it is taken", async () => /ok +audit/.test(await doctor()))
    await comesTrue("the person is told of", tells(id))
    const tries = received.slice(before)
    const [first] = tries
    expect(tries[1]).toMatchObject({ key: first?.key, body: first?.body })
    expect(elsewhere).toEqual([])
    await mustBeWhole()
  },
  240_000,
)

test("garbage with 2xx is taken for what it is: it was taken", async () => {
  mood = "talks"
  const id = await addPerson()
  await comesTrue("the person is told of", tells(id))
  const count = received.length
  await pause(1500, "nothing more may be sent, and nothing signals that it was not")
  expect(received.length).toBe(count)
  mood = "takes"
})

test("kill -9 while a batch is under way loses nothing, and repeats by the same key", async () => {
  for (let round = 0; round < 4; round++) {
    mood = round % 2 === 0 ? "hangs" : "takes"
    const before = received.length
    const id = await addPerson()
    if (round % 2 === 0) await comesTrue("a batch is under way", () => received.length > before)
    await server.stop("SIGKILL")
    mood = "takes"
    server = await start({ data, port })
    const later = await addPerson()
    await comesTrue("both are told of", () => tells(id)() && tells(later)())
    const tries = received.slice(before)
    if (round % 2 === 0)
      expect(tries[1]).toMatchObject({ key: tries[0]?.key, body: tries[0]?.body })
  }
  await mustBeWhole()
}, 240_000)

test("what only this machine reaches is not called unless that is allowed", async () => {
  await server.stop()
  const count = received.length
  writeFileSync(
    `${data}/latchkey.toml`,
    `audit_collector = "http://127.0.0.1:${receiver.port}/in"\n`,
  )
  server = await start({ data, port })
  await addPerson()
  await comesTrue("the doctor tells", async () => (await doctor()).includes("outbound_allow"))
  expect(server.output()).toMatch(/are not collected: .*127\.0\.0\.1 is not a host/)
  expect(received.length).toBe(count)
})
