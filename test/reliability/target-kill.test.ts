import { createServer } from "node:http"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { connect, type Reply } from "../acceptance/service.ts"
import {
  freePort,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"

const rounds = 4
const perRound = 25

const folder = temporaryFolder()
afterAll(() => folder.remove())

/** A service that delays its response to each event. */
async function openReceiver(delayMs: number) {
  const told: { readonly name: string; readonly key: string }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const { event_payload: payload } = JSON.parse(Buffer.concat(chunks).toString())
      told.push({ name: payload.name, key: String(request.headers["idempotency-key"]) })
      // timer: the server responds late on purpose
      setTimeout(() => response.end(), delayMs)
    })
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const address = server.address()
  const port = typeof address === "object" && address ? address.port : 0
  const close = () => {
    server.closeAllConnections()
    return new Promise((done) => server.close(done))
  }
  return { told, url: `http://127.0.0.1:${port}/hook`, close }
}

test("killed while it calls targets: no event is lost, repetitions share a key", async () => {
  const receiver = await openReceiver(60)
  const data = join(folder.path, "data")
  const port = await freePort()
  const key = await setUp(data, `http://localhost:${port}`)
  const run = () => startLatchkey({ data, port, args: ["--outbound-allow", "127.0.0.1"] })
  let server = await run()
  const token = await serviceToken(server.url, key)
  const ask = (name: string, request: object): Promise<Reply> =>
    connect(server.url, name, { request, token })

  const action = (name: string) => `core.action.v2.ActionService/${name}`
  const hook = { name: "hook", endpoint: receiver.url, timeout: "5s", restWebhook: {} }
  const { id } = (await ask(action("CreateTarget"), hook)).body
  const condition = { event: { event: "org.added" } }
  const set = await ask(action("SetExecution"), { condition, targets: [id] })
  expect(set.status).toBe(200)

  const added: string[] = []
  const add = async (name: string) => {
    const { status } = await ask("core.org.v2.OrganizationService/AddOrganization", { name })
    if (status === 200) added.push(name)
  }
  for (let round = 0; round < rounds; round++) {
    const names = Array.from({ length: perRound }, (_, at) => `org-${round}-${at}`)
    // Requests without a response may or may not have succeeded; only confirmed ones are required.
    const work = names.map((name) => add(name).catch(() => {}))
    const isBusy = () => receiver.told.length > round * 15 && added.length > (round + 1) * 5
    await expect.poll(isBusy, { interval: 5, timeout: 60_000 }).toBe(true)
    await server.stop("SIGKILL")
    await Promise.all(work)
    server = await run()
  }

  const missing = () => added.filter((name) => !receiver.told.some((each) => each.name === name))
  await expect.poll(missing, { timeout: 60_000 }).toEqual([])
  await server.stop()
  await receiver.close()

  expect(added.length).toBeGreaterThan(rounds * 5)
  const keys = new Map<string, Set<string>>()
  for (const { name, key: each } of receiver.told) {
    keys.set(name, (keys.get(name) ?? new Set()).add(each))
  }
  expect([...keys].filter(([, known]) => known.size !== 1)).toEqual([])
  // No key belongs to two events: a receiver that deduplicates by key drops repetitions only.
  expect(new Set([...keys.values()].flatMap((current) => [...current])).size).toBe(keys.size)
})
