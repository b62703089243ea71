// Processes that answer from one file, of which one writes: what each sees of what others did, and
// what becomes of what one asked when the one that writes dies.
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { Fault } from "../../src/kernel/fault.ts"
import { diskFault } from "../../src/store/disk-error.ts"
import type { Store } from "../../src/store/index.ts"
import { damagedError } from "../../src/store/log/row.ts"
import { openBeside } from "../support/beside.ts"
import { loopTurns, until } from "../support/wait.ts"
import { openWorld, type World } from "../support/world.ts"
import {
  account,
  accounts,
  allAccounts,
  eraseAccount,
  modules,
  openAccount,
  openFile,
  refusalOf,
  renameAccount,
  temporaryFile,
} from "./account.ts"

let world: World
let first: ReturnType<typeof openBeside>
let second: ReturnType<typeof openBeside>
beforeEach(() => {
  world = openWorld(modules)
  const options = { ...modules, file: world.store.database.filename }
  first = openBeside(world.store, options, 1)
  second = openBeside(world.store, options, 2)
})
afterEach(async () => {
  await first.store.close()
  await second.store.close()
  await world.close()
})

const on = (store: Store) => ({ ...world.cx(), store })
const names = (store: Store) => store.all(on(store), allAccounts).map(({ name }) => name)
const stateIn = (store: Store) => store.state(on(store), account, "1")
/** What a request sees that comes now. */
const seenBy = (store: Store) => {
  store.worker?.renew()
  return [names(store), stateIn(store)]
}

test("what one was told is seen by all at once, in tables and in memory", async () => {
  const all = [world.store, first.store, second.store]
  await openAccount(on(first.store), "1", { name: "a" })
  for (let round = 0; round < 30; round++) {
    const writer = all[round % 3] ?? world.store
    await renameAccount(on(writer), "1", `n${round}`)
    const seen = [[`n${round}`], expect.objectContaining({ name: `n${round}` })]
    for (const store of all) expect(seenBy(store)).toEqual(seen)
  }
})

test("answers that are kept are stale once another process has written", async () => {
  const changes = () => second.store.log.changesOf(["account"])
  const before = [changes(), second.store.log.changes(), changes()]
  expect(before[2]).toBe(before[0])
  await openAccount(on(first.store), "1", { name: "a" })
  second.store.worker?.renew()
  expect(changes()).toBeGreaterThan(before[0] ?? 0)
  expect(second.store.log.changes()).toBeGreaterThan(before[1] ?? 0)
})

test("within a turn of the event loop all is of one state", async () => {
  await openAccount(on(world.store), "1", { name: "a" })
  expect(seenBy(first.store)).toEqual([["a"], expect.objectContaining({ name: "a" })])
  const state = stateIn(first.store)
  const renamed = renameAccount(on(world.store), "1", "b")
  world.store.log.writes()
  expect([names(first.store), stateIn(first.store)]).toEqual([["a"], state])
  await renamed
  expect(seenBy(first.store)).toEqual([["b"], expect.objectContaining({ name: "b" })])
})

test("of two that decide at once about the same thing one decides again", async () => {
  for (let round = 0; round < 30; round++) {
    const id = `${round}`
    const stores = [first.store, second.store, world.store]
    const opened = stores.map((store, at) => openAccount(on(store), id, { name: `${id}-${at}` }))
    const results = await Promise.all(opened.map(refusalOf))
    expect(results.toSorted()).toEqual([
      "already_exists account.exists",
      "already_exists account.exists",
      "nothing",
    ])
  }
})

test("a claim is given once, to whomever", async () => {
  for (let round = 0; round < 20; round++) {
    const stores = [first.store, second.store, first.store, second.store]
    const opened = stores.map((store, at) =>
      openAccount(on(store), `${round}-${at}`, { name: `n${round}` }),
    )
    const results = await Promise.all(opened.map(refusalOf))
    expect(results.filter((each) => each === "nothing")).toHaveLength(1)
    expect(new Set(results).size).toBe(2)
  }
})

test("who claims what another one has let go of gets it", async () => {
  await openAccount(on(first.store), "1", { name: "a" })
  await renameAccount(on(second.store), "1", "b")
  expect(await refusalOf(openAccount(on(first.store), "2", { name: "a" }))).toBe("nothing")
})

test("when the line breaks nobody knows, and the same decision does not count twice", async () => {
  await openAccount(on(world.store), "1", { name: "a" })
  const asked = openAccount(on(first.store), "2", { name: "b" })
  first.cut()
  expect(await refusalOf(asked)).toBe("unavailable worker.gone")
  expect(await refusalOf(renameAccount(on(first.store), "1", "c"))).toBe("unavailable worker.gone")
  // It had come, and was written; whoever tries again hears of that.
  await until(() => names(world.store).length === 2)
  expect(names(world.store)).toEqual(["a", "b"])
  const again = openAccount(on(second.store), "2", { name: "b" })
  expect(await refusalOf(again)).toBe("already_exists account.exists")
  const events = await second.store.log.read(0, 100)
  expect(events.map(({ type, id }) => `${type} ${id}`)).toEqual([
    "account.opened 1",
    "account.opened 2",
  ])
})

test("what is told is on disk", async () => {
  const opening = openAccount(on(world.store), "1", { name: "a" })
  await loopTurns(1)
  const read = await first.store.log.read(0, 10)
  expect(world.store.log.durable()).toBeGreaterThanOrEqual(read.at(-1)?.position ?? 0)
  await opening
  expect(await first.store.log.history({ ...stream, asc: true, limit: 9 })).toHaveLength(1)
})
const stream = { instance: "i1", stream: "account", id: "1" }

test("files, and what has been erased, are as the writer has them", async () => {
  await openAccount(on(first.store), "1", { name: "a" })
  await eraseAccount(on(second.store), "1")
  const events = await first.store.log.read(0, 100)
  expect(events.every((event) => event.private === null)).toBe(true)
})

test("tables that take the place of others serve at once", async () => {
  await openAccount(on(first.store), "1", { name: "a" })
  const before = first.store.log.changes()
  expect(names(second.store)).toEqual(["a"])
  const begun = vi.spyOn(world.store, "rebuild")
  expect(first.store.rebuild(accounts.name)).toBe(true)
  expect(first.store.rebuild("nothing")).toBe(false)
  await until(() => begun.mock.calls.length > 0)
  expect(begun.mock.calls).toEqual([[accounts.name]])
  await world.store.rebuilt()
  await renameAccount(on(world.store), "1", "b")
  for (const { store } of [first, second]) {
    store.worker?.renew()
    expect(names(store)).toEqual(["b"])
    expect(store.log.changes()).toBeGreaterThan(before + 1)
  }
})

test("more than is looked at one by one makes all of memory stale", async () => {
  await openAccount(on(first.store), "1", { name: "a" })
  expect(seenBy(second.store)).toEqual([["a"], expect.objectContaining({ name: "a" })])
  await world.store.transact(on(world.store), (tx) => {
    const renamed = Array.from({ length: 2500 }, (_, at) => `n${at}`)
    tx.append(
      account,
      "1",
      renamed.map((name) => ({ type: "account.renamed", data: { name } }) as const),
    )
  })
  expect(seenBy(second.store)).toEqual([["n2499"], expect.objectContaining({ name: "n2499" })])
})

test("who holds requests back lets them go on", async () => {
  const { worker } = first.store
  expect(worker?.held()).toBeUndefined()
  const goOn = worker?.hold()
  const held = worker?.held()
  expect(held).toBeInstanceOf(Promise)
  goOn?.()
  await held
  expect(worker?.held()).toBeUndefined()
})

test("the one that writes tells when others see what is shown there", async () => {
  const { file, remove } = temporaryFile()
  const nobody = { hold: async () => undefined, readOn: () => undefined }
  const rest = async () => nobody
  const workers = { rest, scrub: async () => undefined, spendOnce: async () => true }
  const writing = openFile(file, { workers })
  const { store } = openBeside(writing, { ...modules, file })
  await openAccount(on(writing), "1", { name: "a" })
  for (let round = 0; round < 20; round++) {
    const renaming = renameAccount(on(writing), "1", `n${round}`)
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

test("what the disk does not do for a worker is told to the one that writes", async () => {
  const { file, remove } = temporaryFile()
  const troubles: string[] = []
  const writing = openFile(file, { trouble: ({ code, id }) => troubles.push(`${code} ${id}`) })
  const { store } = openBeside(writing, { ...modules, file })
  expect(store.faultOf(new Error("a bug"))).toBeUndefined()
  const refused = new Fault("not_found", "account.missing", "There is none.")
  expect(store.faultOf(refused)).toBe(refused)
  expect(store.faultOf(damagedError("a row is no JSON"))).toMatchObject({ code: "data_loss" })
  store.faultOf(diskFault({ kind: "broken", message: "the disk fails to read" }))
  await openAccount(on(store), "1", { name: "a" })
  expect(troubles).toEqual(["data_loss store.damaged", "unavailable store.disk_broken"])
  await store.close()
  await writing.close()
  remove()
})
