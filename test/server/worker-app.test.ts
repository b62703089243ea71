// What processes answer that have one file, of which one writes.
import { create } from "@bufbuild/protobuf"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { folderAt } from "../../src/boot/folder/folder.ts"
import type { Start } from "../../src/boot/running.ts"
import { configOf } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { appOf } from "../../src/server/app.ts"
import { entriesFor } from "../../src/server/entries.ts"
import { cameBy } from "../../src/server/operator/doctor.ts"
import { openServices, openServicesBeside, type ServerServices } from "../../src/server/services.ts"
import {
  openSetupToken,
  type SetupToken,
  setupDoorBeside,
  setupHandlers,
} from "../../src/server/setup/setup-token.ts"
import { beginningOf, startOf } from "../../src/server/worker/beginning.ts"
import { spentOnce } from "../../src/server/worker/spent.ts"
import {
  type Channel,
  channelOf,
  type Message,
  writerAt,
  writingHandlers,
} from "../../src/store/index.ts"
import { temporaryFolder } from "../support/latchkey.ts"

// The bundler puts files of the console there, which only the binary can carry.
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
let start: Start
let writing: ServerServices
let beside: ServerServices
let line: Channel
let token: SetupToken
let isSetUp = false
let closed = 0

beforeEach(() => {
  folder = temporaryFolder()
  const config = configOf({ flags: {}, env, file: {} })
  start = { config, folder: folderAt(folder.path), master: new Uint8Array(32), started: 0 }
  const spendOnce = spentOnce({ now: () => 0 }, 2)
  const rest = async () => ({ hold: async () => undefined, readOn: () => undefined })
  writing = openServices(start, { readers: { spendOnce, rest, scrub: async () => undefined } })
  isSetUp = false
  closed = 0
  token = openSetupToken(systemRandom, { open: () => !isSetUp, closed: () => void closed++ })
  const carrying = (to: () => Channel) => (message: Message) =>
    void setImmediate(() => to().take(JSON.parse(JSON.stringify(message))))
  const handlers = { ...writingHandlers(writing.store, spendOnce), ...setupHandlers(token) }
  const there: Channel = channelOf(
    carrying(() => line),
    handlers,
  )
  line = channelOf(
    carrying(() => there),
    {},
  )
  const worker = { part: 1, writer: writerAt(line), notReady: () => undefined }
  beside = openServicesBeside(start, worker, {})
})
afterEach(async () => {
  await beside.store.close()
  await writing.store.close()
  folder.remove()
})

const peer = () => "127.0.0.1"
const appAt = (services: ServerServices) =>
  appOf({ services, setupToken: setupDoorBeside(services, line.ask), upstream: "" })
const turn = () => new Promise((done) => setImmediate(done))

test("whoever waits for the log to begin anew reads nothing, also not whom it means", async () => {
  const { store } = beside
  const app = appAt(beside)
  await turn()
  const goOn = store.worker?.hold()
  const asked = [
    new Request("http://localhost/forward-auth/id.example.com/1/check"),
    new Request("http://localhost/ui/console/", { headers: { "x-core-instance-host": "a" } }),
  ].map((request) => app.answer(request, peer))
  expect(store.database.inTransaction).toBe(false)
  await turn()
  expect(store.database.inTransaction).toBe(false)
  goOn?.()
  expect((await Promise.all(asked)).map(({ status }) => status)).not.toContain(500)
})

test("what others would never see is told to nobody, in words", async () => {
  const full = Object.assign(new Error("no space"), { code: "ENOSPC", syscall: "write" })
  Object.assign(writing.store, { pending: () => Promise.reject(full) })
  const answer = await appAt(writing).answer(new Request("http://localhost/oauth/v2/keys"), peer)
  expect([answer.status, (await answer.json()).message]).toEqual([
    503,
    expect.stringContaining("the disk is full"),
  ])
  const cx = writing.call("", "test")
  const [entry] = (await entriesFor(writing, async () => cx)).filter(({ name }) =>
    name.endsWith("admin.v1.AdminService/Healthz"),
  )
  if (!entry) throw new Error("there is no such operation")
  const { input, name } = entry.method
  const target = { method: "POST", path: `/${name}` }
  const arrival = { headers: new Headers(), address: "", encoding: "grpc", target } as const
  const codec = { decode: () => create(input), encode: () => "told" }
  const { result } = await entry.call(arrival, codec)
  expect(result).toMatchObject({ ok: false, fault: { id: "store.disk_full" } })
  Object.assign(writing.store, { pending: () => Promise.reject(new Error("a bug")) })
  const failed = await appAt(writing).answer(new Request("http://localhost/oauth/v2/keys"), peer)
  expect([failed.status, await failed.text()]).toEqual([
    500,
    expect.stringContaining("the log says more about request"),
  ])
})

test("only a path that may be awaited is asked for", () => {
  const path = `/debug/doctor/${"a".repeat(43)}`
  const came = (address: string) => cameBy(beside, new Request(address), peer)?.path
  expect(came(`http://localhost${path}`)).toBe(path)
  for (const other of [`${path}/`, `${path}a`, `/x${path}`, "/debug/doctor/", `/?${path}`]) {
    expect(came(`http://localhost${other}`)).toBeUndefined()
  }
})

test("a worker is told no secret of what only the other one does", () => {
  const how = { part: 1, version: "1", port: 8080, upstream: "" }
  const told = JSON.stringify(beginningOf(start, how))
  expect(told).not.toContain("wants")
  expect(told).toContain("https://collector.example.com")
  const { config } = startOf(JSON.parse(told), {})
  expect([config.limits, config.listen]).toMatchObject([Infinity, { port: 8080 }])
})

test("one set-up link leads in at every process: the last one that was printed", async () => {
  const door = setupDoorBeside(beside, line.ask)
  const [first, second] = [token.renew(), token.renew()]
  expect(door.isOpen()).toBe(true)
  expect(await Promise.all([first, second, ""].map(door.matches))).toEqual([false, true, false])
  isSetUp = true
  expect(closed).toBe(0)
  door.close()
  // Whoever keeps the link in a file takes it away.
  for (let passed = 0; passed < 3; passed++) await turn()
  expect(closed).toBe(1)
  expect(await door.matches(second)).toBe(false)
})
