import { afterEach, beforeEach, expect, test } from "vitest"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { firstInstance } from "../../src/domain/setup/index.ts"
import { healthResponse } from "../../src/http/health.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { startBackground } from "../../src/server/background/background.ts"
import { startInspection } from "../../src/server/background/inspecting.ts"
import { openServices, type ServerServices } from "../../src/server/services.ts"
import { setUpByRequest } from "../../src/server/setup/setup.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { until } from "../support/wait.ts"

const settings = {
  publicUrl: "http://localhost",
  org: "Acme",
  owner: "root@acme.example",
  ownerEmail: "root@acme.example",
  ownerPassword: "Correct horse 7 staples",
}

const config = parseConfig({ flags: { "--log-level": "fatal" }, env: {}, file: {} })

let folder: ReturnType<typeof temporaryFolder>
let services: ServerServices
beforeEach(() => {
  folder = temporaryFolder()
  const master = new Uint8Array(32)
  services = openServices({ config, folder: folderAt(folder.path), master, started: 0 })
})
afterEach(async () => {
  await services.store.close()
  folder.remove()
})

async function health(path: string) {
  const watched = { ...services, alive: () => new Response("{}") }
  const answer = healthResponse(watched, new Request("http://localhost/"), path)
  return [answer?.status, await answer?.text()]
}

test("a running process is healthy and ready, and does not handle other paths", async () => {
  expect(await health("/debug/healthz")).toEqual([200, "ok\n"])
  expect(await health("/debug/ready")).toEqual([200, "ok\n"])
  expect(await health("/debug/readyness")).toEqual([undefined, undefined])
})

test("a reactor that can't read an event makes the node not ready, and names the event", async () => {
  await setUpByRequest(services, settings)
  services.store.database.run("UPDATE event SET data = '{}' WHERE position = 2")
  const [{ name } = { name: "" }] = services.store.database
    .query<{ name: string }, []>(
      "SELECT name FROM event JOIN name ON code = event.type WHERE position = 2",
    )
    .all()
  const listening = { [name]: async () => undefined }
  const background = startBackground(services, [{ name: "logout", on: listening }], config)
  await until(() => services.notReady() !== undefined)
  expect(await health("/debug/ready")).toEqual([
    503,
    "not ready: the reactor logout is blocked: event 2 is damaged on disk; " +
      "restore the data directory from a backup\n",
  ])
  expect(await health("/debug/healthz")).toEqual([200, "ok\n"])
  await background.stop()
})

test("a full disk makes the node not ready while it is full", async () => {
  await setUpByRequest(services, settings)
  const { database } = services.store
  const pages = database.query<{ page_count: number }, []>("PRAGMA page_count").get()?.page_count
  database.run(`PRAGMA max_page_count = ${pages}`)
  const filling = () => database.run("INSERT INTO meta VALUES ('full', zeroblob(1000000))")
  let met: unknown
  try {
    filling()
  } catch (cause) {
    met = cause
  }
  expect(services.store.faultOf(met)).toMatchObject({ code: "unavailable", id: "store.disk_full" })
  expect(await health("/debug/ready")).toEqual([
    503,
    "not ready: the disk: the disk is full, so nothing can be saved; free some space\n",
  ])
  database.run("PRAGMA max_page_count = 1000000")
  await until(() => services.notReady() === undefined)
  expect(await health("/debug/ready")).toEqual([200, "ok\n"])
})

test("a damaged database keeps the node not ready, even after the disk works again", async () => {
  services.reportProblem("the disk", new Fault("unavailable", "store.disk_full", "full"))
  const damaged = Object.assign(new Error("malformed"), {
    name: "SQLiteError",
    code: "SQLITE_CORRUPT",
  })
  expect(services.store.faultOf(damaged)).toMatchObject({ code: "data_loss" })
  services.clearProblem("the disk")
  expect((await health("/debug/ready"))[1]).toMatch(/^not ready: the database: .*damaged/)
})

test("damage is found by a daily check and named", async () => {
  await setUpByRequest(services, settings)
  const timers: (() => void)[] = []
  const after = (ms: number, act: () => void) => {
    timers.push(act)
    waits.push(ms)
    return { stop: () => undefined }
  }
  const waits: number[] = []
  const { stop } = startInspection({ ...services, clock: { ...services.clock, after } })
  timers.shift()?.()
  await expect.poll(() => timers.length, { timeout: 60_000 }).toBe(1)
  expect(await health("/debug/ready")).toEqual([200, "ok\n"])
  services.store.database.run("UPDATE state SET state = replace(state, 'Acme', 'Acne')")
  timers.shift()?.()
  await expect.poll(() => timers.length, { timeout: 60_000 }).toBe(1)
  expect(waits).toEqual([60_000, 86_400_000, 86_400_000])
  expect(await health("/debug/ready")).toEqual([
    503,
    expect.stringMatching(
      /^not ready: the database: the state of \w+ .* is damaged on disk; restore/,
    ),
  ])
  await stop()
})

test("an event that a reactor gives up on is listed, and the node stays ready", async () => {
  await setUpByRequest(services, settings)
  const refuse = () => Promise.reject(new Error("connection failed"))
  const background = startBackground(
    services,
    [
      { name: "logout", on: { "instance.added": refuse } },
      { name: "mail", on: {} },
    ],
    config,
  )
  await background.reactors.drain()
  expect(background.reactors.failed()).toMatchObject([
    { reactor: "logout", instance: firstInstance, error: "connection failed" },
  ])
  expect(await health("/debug/ready")).toEqual([200, "ok\n"])
  await background.stop()
})
