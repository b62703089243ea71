// Processes that share one file, of which one writes: their view of each other's writes, and the
// fate of a request when the writer exits.
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { Fault } from "../../src/kernel/fault.ts"
import { createDiskFault } from "../../src/store/disk-error.ts"
import type { Store } from "../../src/store/index.ts"
import { damagedError } from "../../src/store/log/row.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import { loopTurns, until } from "../support/wait.ts"
import { openWorkerStore } from "../support/worker-store.ts"
import {
  account,
  accounts,
  allAccounts,
  eraseAccount,
  modules,
  openAccount,
  openFile,
  rejectionOf,
  renameAccount,
  temporaryFile,
} from "./account.ts"

let world: TestEnvironment
let first: ReturnType<typeof openWorkerStore>
let second: ReturnType<typeof openWorkerStore>
beforeEach(() => {
  world = openTestEnvironment(modules)
  const options = { ...modules, file: world.store.database.filename }
  first = openWorkerStore(world.store, options, 1)
  second = openWorkerStore(world.store, options, 2)
})
afterEach(async () => {
  await first.store.close()
  await second.store.close()
  await world.close()
})

const callOn = (store: Store) => ({ ...world.cx(), store })
const names = (store: Store) => store.all(callOn(store), allAccounts).map(({ name }) => name)
const stateIn = (store: Store) => store.state(callOn(store), account, "1")
/** The view of a new request. */
const seenBy = (store: Store) => {
  store.worker?.renew()
  return [names(store), stateIn(store)]
}

test("a confirmed write is visible to all immediately, in tables and in memory", async () => {
  const all = [world.store, first.store, second.store]
  await openAccount(callOn(first.store), "1", { name: "a" })
  for (let round = 0; round < 30; round++) {
    const writer = all[round % 3] ?? world.store
    await renameAccount(callOn(writer), "1", `n${round}`)
    const seen = [[`n${round}`], expect.objectContaining({ name: `n${round}` })]
    for (const store of all) expect(seenBy(store)).toEqual(seen)
  }
})

test("cached values are stale after a write by another process", async () => {
  const changes = () => second.store.log.changesOf(["account"])
  const before = [changes(), second.store.log.changes(), changes()]
  expect(before[2]).toBe(before[0])
  await openAccount(callOn(first.store), "1", { name: "a" })
  second.store.worker?.renew()
  expect(changes()).toBeGreaterThan(before[0] ?? 0)
  expect(second.store.log.changes()).toBeGreaterThan(before[1] ?? 0)
})

test("all reads within a turn of the event loop see one state", async () => {
  await openAccount(callOn(world.store), "1", { name: "a" })
  expect(seenBy(first.store)).toEqual([["a"], expect.objectContaining({ name: "a" })])
  const state = stateIn(first.store)
  const renamed = renameAccount(callOn(world.store), "1", "b")
  world.store.log.writes()
  expect([names(first.store), stateIn(first.store)]).toEqual([["a"], state])
  await renamed
  expect(seenBy(first.store)).toEqual([["b"], expect.objectContaining({ name: "b" })])
})

test("one of two concurrent decisions about the same stream is decided again", async () => {
  for (let round = 0; round < 30; round++) {
    const id = `${round}`
    const stores = [first.store, second.store, world.store]
    const opened = stores.map((store, at) =>
      openAccount(callOn(store), id, { name: `${id}-${at}` }),
    )
    const results = await Promise.all(opened.map(rejectionOf))
    expect(results.toSorted()).toEqual([
      "already_exists account.exists",
      "already_exists account.exists",
      "nothing",
    ])
  }
})

test("a claim is given once across processes", async () => {
  for (let round = 0; round < 20; round++) {
    const stores = [first.store, second.store, first.store, second.store]
    const opened = stores.map((store, at) =>
      openAccount(callOn(store), `${round}-${at}`, { name: `n${round}` }),
    )
    const results = await Promise.all(opened.map(rejectionOf))
    expect(results.filter((each) => each === "nothing")).toHaveLength(1)
    expect(new Set(results).size).toBe(2)
  }
})

test("a released claim can be claimed by another process", async () => {
  await openAccount(callOn(first.store), "1", { name: "a" })
  await renameAccount(callOn(second.store), "1", "b")
  expect(await rejectionOf(openAccount(callOn(first.store), "2", { name: "a" }))).toBe("nothing")
})

test("a lost connection leaves the result unknown, and a repeated decision counts once", async () => {
  await openAccount(callOn(world.store), "1", { name: "a" })
  const asked = openAccount(callOn(first.store), "2", { name: "b" })
  first.cut()
  expect(await rejectionOf(asked)).toBe("unavailable worker.gone")
  expect(await rejectionOf(renameAccount(callOn(first.store), "1", "c"))).toBe(
    "unavailable worker.gone",
  )
  // It had arrived and was written; a repetition returns that result.
  await until(() => names(world.store).length === 2)
  expect(names(world.store)).toEqual(["a", "b"])
  const again = openAccount(callOn(second.store), "2", { name: "b" })
  expect(await rejectionOf(again)).toBe("already_exists account.exists")
  const events = await second.store.log.read(0, 100)
  expect(events.map(({ type, id }) => `${type} ${id}`)).toEqual([
    "account.opened 1",
    "account.opened 2",
  ])
})

test("confirmed data is on disk", async () => {
  const opening = openAccount(callOn(world.store), "1", { name: "a" })
  await loopTurns(1)
  const read = await first.store.log.read(0, 10)
  expect(world.store.log.durable()).toBeGreaterThanOrEqual(read.at(-1)?.position ?? 0)
  await opening
  expect(await first.store.log.history({ ...stream, asc: true, limit: 9 })).toHaveLength(1)
})
const stream = { instance: "i1", stream: "account", id: "1" }

test("files and erasures match the writer", async () => {
  await openAccount(callOn(first.store), "1", { name: "a" })
  await eraseAccount(callOn(second.store), "1")
  const events = await first.store.log.read(0, 100)
  expect(events.every((event) => event.private === null)).toBe(true)
})

test("replaced tables are used immediately", async () => {
  await openAccount(callOn(first.store), "1", { name: "a" })
  const before = first.store.log.changes()
  expect(names(second.store)).toEqual(["a"])
  const begun = vi.spyOn(world.store, "rebuild")
  expect(first.store.rebuild(accounts.name)).toBe(true)
  expect(first.store.rebuild("nothing")).toBe(false)
  await until(() => begun.mock.calls.length > 0)
  expect(begun.mock.calls).toEqual([[accounts.name]])
  await world.store.rebuilt()
  await renameAccount(callOn(world.store), "1", "b")
  for (const { store } of [first, second]) {
    store.worker?.renew()
    expect(names(store)).toEqual(["b"])
    expect(store.log.changes()).toBeGreaterThan(before + 1)
  }
})

test("too many changes invalidate the whole cache", async () => {
  await openAccount(callOn(first.store), "1", { name: "a" })
  expect(seenBy(second.store)).toEqual([["a"], expect.objectContaining({ name: "a" })])
  await world.store.transact(callOn(world.store), (tx) => {
    const renamed = Array.from({ length: 2500 }, (_, at) => `n${at}`)
    tx.append(
      account,
      "1",
      renamed.map((name) => ({ type: "account.renamed", data: { name } }) as const),
    )
  })
  expect(seenBy(second.store)).toEqual([["n2499"], expect.objectContaining({ name: "n2499" })])
})

test("held requests continue", async () => {
  const { worker } = first.store
  expect(worker?.held()).toBeUndefined()
  const goOn = worker?.hold()
  const held = worker?.held()
  expect(held).toBeInstanceOf(Promise)
  goOn?.()
  await held
  expect(worker?.held()).toBeUndefined()
})

test("the writer learns when workers show its writes", async () => {
  const { file, remove } = temporaryFile()
  const nobody = { hold: async () => undefined, readOn: () => undefined }
  const rest = async () => nobody
  const workers = { rest, scrub: async () => undefined, spendOnce: async () => true }
  const writing = openFile(file, { workers })
  const { store } = openWorkerStore(writing, { ...modules, file })
  await openAccount(callOn(writing), "1", { name: "a" })
  for (let round = 0; round < 20; round++) {
    const renaming = renameAccount(callOn(writing), "1", `n${round}`)
    const shown = seenBy(writing)
    expect(seenBy(store)).not.toEqual(shown)
    await writing.pending()
    expect(seenBy(store)).toEqual(shown)
    await renaming
  }
  expect(writing.pending()).toBeUndefined()
  await store.close()
  await writing.close()
  remove()
})

test("disk errors of a worker are reported to the writer", async () => {
  const { file, remove } = temporaryFile()
  const troubles: string[] = []
  const writing = openFile(file, { trouble: ({ code, id }) => troubles.push(`${code} ${id}`) })
  const { store } = openWorkerStore(writing, { ...modules, file })
  expect(store.faultOf(new Error("a bug"))).toBeUndefined()
  const refused = new Fault("not_found", "account.missing", "There is none.")
  expect(store.faultOf(refused)).toBe(refused)
  expect(store.faultOf(damagedError("a row is no JSON"))).toMatchObject({ code: "data_loss" })
  store.faultOf(createDiskFault({ kind: "broken", message: "the disk fails to read" }))
  await openAccount(callOn(store), "1", { name: "a" })
  expect(troubles).toEqual(["data_loss store.damaged", "unavailable store.disk_broken"])
  await store.close()
  await writing.close()
  remove()
})
