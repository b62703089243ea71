// The responses of processes that share one file, of which one writes.
import { create } from "@bufbuild/protobuf"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { folderAt } from "../../src/boot/folder/folder.ts"
import type { StartInput } from "../../src/boot/running.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { createApp } from "../../src/server/app.ts"
import { loadEntries } from "../../src/server/entries.ts"
import { observe } from "../../src/server/operator/doctor.ts"
import { openServices, openWorkerServices, type ServerServices } from "../../src/server/services.ts"
import {
  createToken,
  createWorkerSetupAccess,
  type SetupToken,
  setupHandlers,
} from "../../src/server/setup/setup-token.ts"
import { createWorkerStart, startInputOf } from "../../src/server/worker/start-message.ts"
import { createUsedOnce } from "../../src/server/worker/used-once.ts"
import {
  type Channel,
  createChannel,
  createWriter,
  createWriterHandlers,
  type Message,
} from "../../src/store/index.ts"
import { temporaryFolder } from "../support/latchkey.ts"

// The bundler puts files of the console there, which only the binary contains.
vi.mock("../../src/gen/ui-assets.ts", () => ({
  uiEntry: { css: "/ui/assets/kit.css", pageJs: "/ui/assets/page.js", icon: "/ui/mark.svg" },
  uiAssets: new Map(),
}))

const env = {
  LATCHKEY_S3_SECRET: "what the storage wants",
  LATCHKEY_AUDIT_COLLECTOR: "https://collector.example.com",
  LATCHKEY_AUDIT_COLLECTOR_AUTHORIZATION: "Bearer what-the-collector-wants",
  LATCHKEY_LIMITS: "off",
  LATCHKEY_LOG_LEVEL: "fatal",
}
let folder: ReturnType<typeof temporaryFolder>
let start: StartInput
let writerServices: ServerServices
let workerServices: ServerServices
let channel: Channel
let token: SetupToken
let isSetUp = false
let closedCount = 0

beforeEach(() => {
  folder = temporaryFolder()
  const config = parseConfig({ flags: {}, env, file: {} })
  start = { config, folder: folderAt(folder.path), master: new Uint8Array(32), started: 0 }
  const spendOnce = createUsedOnce({ now: () => 0 }, 2)
  const rest = async () => ({ hold: async () => undefined, readOn: () => undefined })
  writerServices = openServices(start, {
    readers: { spendOnce, rest, scrub: async () => undefined },
  })
  isSetUp = false
  closedCount = 0
  token = createToken(systemRandom, { open: () => !isSetUp, closed: () => void closedCount++ })
  const carrying = (to: () => Channel) => (message: Message) =>
    void setImmediate(() => to().take(JSON.parse(JSON.stringify(message))))
  const handlers = {
    ...createWriterHandlers(writerServices.store, spendOnce),
    ...setupHandlers(token),
  }
  const there: Channel = createChannel(
    carrying(() => channel),
    handlers,
  )
  channel = createChannel(
    carrying(() => there),
    {},
  )
  const worker = { part: 1, writer: createWriter(channel), notReady: () => undefined }
  workerServices = openWorkerServices(start, worker, {})
})
afterEach(async () => {
  await workerServices.store.close()
  await writerServices.store.close()
  folder.remove()
})

const peer = () => "127.0.0.1"
const appAt = (services: ServerServices) =>
  createApp({ services, setupToken: createWorkerSetupAccess(services, channel.ask), upstream: "" })
const nextTurn = () => new Promise((done) => setImmediate(done))

test("a request that waits for the WAL to restart reads nothing, not even its instance", async () => {
  const { store } = workerServices
  const app = appAt(workerServices)
  await nextTurn()
  const goOn = store.worker?.hold()
  const asked = [
    new Request("http://localhost/forward-auth/id.example.com/1/check"),
    new Request("http://localhost/ui/console/", { headers: { "x-core-instance-host": "a" } }),
  ].map((request) => app.answer(request, peer))
  expect(store.database.inTransaction).toBe(false)
  await nextTurn()
  expect(store.database.inTransaction).toBe(false)
  goOn?.()
  expect((await Promise.all(asked)).map(({ status }) => status)).not.toContain(500)
})

test("an unexpected internal error is not revealed", async () => {
  const full = Object.assign(new Error("no space"), { code: "ENOSPC", syscall: "write" })
  Object.assign(writerServices.store, { pending: () => Promise.reject(full) })
  const answer = await appAt(writerServices).answer(
    new Request("http://localhost/oauth/v2/keys"),
    peer,
  )
  expect([answer.status, (await answer.json()).message]).toEqual([
    503,
    expect.stringContaining("the disk is full"),
  ])
  const cx = writerServices.call("", "test")
  const [entry] = (await loadEntries(writerServices, async () => cx)).filter(({ name }) =>
    name.endsWith("admin.v1.AdminService/Healthz"),
  )
  if (!entry) throw new Error("operation not found")
  const { input, name } = entry.method
  const target = { method: "POST", path: `/${name}` }
  const arrival = { headers: new Headers(), address: "", encoding: "grpc", target } as const
  const codec = { decode: () => create(input), encode: () => "told" }
  const { result } = await entry.call(arrival, codec)
  expect(result).toMatchObject({ ok: false, fault: { id: "store.disk_full" } })
  Object.assign(writerServices.store, { pending: () => Promise.reject(new Error("a bug")) })
  const failed = await appAt(writerServices).answer(
    new Request("http://localhost/oauth/v2/keys"),
    peer,
  )
  expect([failed.status, await failed.text()]).toEqual([
    500,
    expect.stringContaining("an internal error occurred; search the log for request"),
  ])
})

test("forwards only permitted paths", () => {
  const path = `/debug/doctor/${"a".repeat(43)}`
  const came = (address: string) => observe(workerServices, new Request(address), peer)?.path
  expect(came(`http://localhost${path}`)).toBe(path)
  for (const other of [`${path}/`, `${path}a`, `/x${path}`, "/debug/doctor/", `/?${path}`]) {
    expect(came(`http://localhost${other}`)).toBeUndefined()
  }
})

test("a worker receives no secrets of tasks that only the writer has", () => {
  const how = { part: 1, version: "1", port: 8080, upstream: "" }
  const told = JSON.stringify(createWorkerStart(start, how))
  expect(told).not.toContain("wants")
  expect(told).toContain("https://collector.example.com")
  const { config } = startInputOf(JSON.parse(told), {})
  expect([config.limits, config.listen]).toMatchObject([Infinity, { port: 8080 }])
})

test("the last printed setup link is valid in every process", async () => {
  const door = createWorkerSetupAccess(workerServices, channel.ask)
  const [first, second] = [token.renew(), token.renew()]
  expect(door.isOpen()).toBe(true)
  expect(await Promise.all([first, second, ""].map(door.matches))).toEqual([false, true, false])
  isSetUp = true
  expect(closedCount).toBe(0)
  door.close()
  // The owner of the file with the link removes it.
  for (let passed = 0; passed < 3; passed++) await nextTurn()
  expect(closedCount).toBe(1)
  expect(await door.matches(second)).toBe(false)
})
