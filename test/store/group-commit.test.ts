// Transactions of one turn of the event loop share a commit, and must not affect each other.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { Store } from "../../src/store/index.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import { until } from "../support/wait.ts"
import {
  account,
  allAccounts,
  modules,
  openAccount,
  openFile,
  rejectionOf,
  renameAccount,
  temporaryFile,
} from "./account.ts"

let world: TestEnvironment
beforeEach(async () => {
  world = openTestEnvironment(modules)
  await openAccount(world.cx(), "0", { name: "first" })
})
afterEach(() => world.close())
const names = () => world.store.all(world.cx(), allAccounts).map((row) => row.name)
const count = (table: string) =>
  world.store.database.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n

test("a rejected or failing transaction is undone alone", async () => {
  const { store, cx } = world
  const broken = store.transact(cx(), (tx) => {
    openAccount.within(tx, "9", { name: "lost" })
    tx.append(account, "9", [{ type: "account.opened", data: { name: null }, private: {} }])
  })
  const results = await Promise.allSettled([
    openAccount(cx(), "1", { name: "ada" }),
    broken,
    openAccount(cx(), "2", { name: "ada" }),
    renameAccount(cx(), "1", "eve"),
    openAccount(cx(), "3", { name: "ada" }),
  ])
  expect(results.map(({ status }) => status)).toEqual([
    "fulfilled",
    "rejected",
    "rejected",
    "fulfilled",
    "fulfilled",
  ])
  expect(names()).toEqual(["first", "eve", "ada"])
  const events = await store.log.read(0, 9)
  expect(events.map(({ position, id }) => [position, id])).toEqual([
    [1, "0"],
    [2, "1"],
    [3, "1"],
    [4, "3"],
  ])
})

test("many transactions of one turn share one commit", async () => {
  const all = Array.from({ length: 100 }, (_, n) =>
    openAccount(world.cx(), `${n + 1}`, { name: `n${n}` }),
  )
  expect(world.store.database.inTransaction).toBe(true)
  await new Promise((resolve) => setImmediate(resolve))
  expect(world.store.database.inTransaction).toBe(false)
  expect((await Promise.all(all)).map((receipt) => receipt.position)).toEqual(
    Array.from({ length: 100 }, (_, n) => n + 2),
  )
})

describe("a transaction without a waiting caller", () => {
  const open = (store: Store, id: string) =>
    store.transactSoon({ ...world.cx(), store }, (tx) =>
      openAccount.within(tx, id, { name: `n${id}` }),
    )
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  test("is visible immediately, and on disk with the next one that has a waiting caller", async () => {
    const { store, cx } = world
    const before = store.log.durable()
    await open(store, "1")
    await turn()
    expect([store.database.inTransaction, store.log.durable()]).toEqual([true, before])
    expect([names(), store.state(cx(), account, "1")]).toEqual([
      ["first", "n1"],
      expect.objectContaining({ name: "n1" }),
    ])
    await openAccount(cx(), "2", { name: "n2" })
    expect([store.database.inTransaction, store.log.durable()]).toEqual([false, before + 2])
  })

  test("is on disk before any decision based on it is confirmed, even an empty one", async () => {
    const { store, cx } = world
    await open(store, "1")
    await store.transact(cx(), (tx) => tx.state(account, "1"))
    expect(store.log.durable()).toBe(2)
  })

  test("is on disk a moment later, and when the store closes", async () => {
    const { store } = world
    await open(store, "1")
    await until(() => store.log.durable() === 2)
    await open(store, "2")
    world = await world.reopen(modules.views)
    expect(names()).toEqual(["first", "n1", "n2"])
  })

  test("is awaited if other processes read the file", async () => {
    const { file, remove } = temporaryFile()
    const readOn = () => undefined
    const store = openFile(file, {
      workers: {
        spendOnce: async () => true,
        rest: async () => ({ hold: async () => undefined, readOn }),
        scrub: async () => undefined,
      },
    })
    await open(store, "1")
    expect([store.database.inTransaction, store.log.durable()]).toEqual([false, 1])
    await store.close()
    remove()
  })
})

describe("when the commit of a turn fails", () => {
  /** Makes the commit of the turn fail, as a full or damaged disk would. */
  const sabotage = () => world.store.database.run("INSERT INTO child VALUES (7)")
  beforeEach(() => {
    world.store.database.run("PRAGMA foreign_keys = ON")
    world.store.database.run("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
    world.store.database.run(
      "CREATE TABLE child (id REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)",
    )
  })

  test("all its transactions are rejected and undone, and the next turn works", async () => {
    const { store, cx } = world
    const tables = ["event", "claim", "state", "name", "kind", "accounts_1"]
    const before = tables.map(count)
    const doomed = [
      rejectionOf(openAccount(cx(), "1", { name: "ada" })),
      rejectionOf(renameAccount(cx(), "0", "other")),
      rejectionOf(store.transact(cx(), (tx) => tx.state(account, "1"))),
    ]
    sabotage()
    for (const refusal of await Promise.all(doomed)) {
      expect(refusal).toMatchObject({ code: "SQLITE_CONSTRAINT_FOREIGNKEY" })
    }
    expect(tables.map(count)).toEqual(before)
    expect(await rejectionOf(renameAccount(cx(), "0", "other"))).toBe("nothing")
    const events = await store.log.read(0, 9)
    expect(events.map(({ position, type }) => [position, type])).toEqual([
      [1, "account.opened"],
      [2, "account.renamed"],
    ])
  })

  test("values computed from undone rows are discarded", async () => {
    const { store, cx } = world
    const doomed = rejectionOf(openAccount(cx(), "1", { name: "ada" }))
    const [seen, changes] = [names(), store.log.changes()]
    expect(seen).toContain("ada")
    sabotage()
    await doomed
    expect(names()).not.toContain("ada")
    expect(store.log.changes()).toBeGreaterThan(changes)
  })
})
