// States are cached in memory for queries; a stale one must never be returned.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import {
  account,
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
  await openAccount(world.cx(), "1", { name: "ada" })
})
afterEach(() => world.close())
const nameIn = (instance: string, id = "1") => {
  const cx = world.cx({ instance })
  return [world.store.state(cx, account, id).name, world.store.receipt(cx, account, id)?.version]
}

test("long made-up IDs do not fill the memory", async () => {
  const isKept = async (id: string) => {
    await openAccount(world.cx(), id, { name: `name of ${id.length}` })
    await renameAccount(world.cx(), id, `another of ${id.length}`)
    const [once, again] = [0, 1].map(() => world.store.state(world.cx(), account, id))
    expect(again).toEqual(once)
    return once === again
  }
  expect(await isKept("a".repeat(600))).toBe(true)
  expect(await isKept("a".repeat(15_000))).toBe(false)
})

test("a state is current for the confirmed caller and everyone after", async () => {
  for (let round = 0; round < 50; round++) {
    expect(nameIn("i1")[1]).toBe(round + 1)
    const renaming = renameAccount(world.cx(), "1", `n${round}`)
    nameIn("i1")
    await renaming
    expect(nameIn("i1")).toEqual([`n${round}`, round + 2])
  }
})

test("a new stream is found after its creation, in its own instance only", async () => {
  expect(nameIn("i2")).toEqual(["", undefined])
  await openAccount(world.cx({ instance: "i2" }), "1", { name: "eve" })
  expect(nameIn("i2")).toEqual(["eve", 1])
  expect(nameIn("i1")).toEqual(["ada", 1])
})

test("a rejected transaction leaves the previous state", async () => {
  await openAccount(world.cx(), "2", { name: "bob" })
  expect(nameIn("i1", "2")).toEqual(["bob", 1])
  expect(await rejectionOf(renameAccount(world.cx(), "2", "ada"))).not.toBe("nothing")
  expect(nameIn("i1", "2")).toEqual(["bob", 1])
})

test("writes of a failed transaction are discarded", async () => {
  const { store, cx } = world
  const broken = store.transact(cx(), (tx) => {
    renameAccount.within(tx, "1", "lost")
    openAccount.within(tx, "2", { name: "bob" })
    tx.append(account, "3", [{ type: "account.opened", data: { name: null }, private: {} }])
  })
  await expect(broken).rejects.toThrow("NOT NULL")
  expect([nameIn("i1"), nameIn("i1", "2")]).toEqual([
    ["ada", 1],
    ["", undefined],
  ])
  await renameAccount(cx(), "1", "eve")
  expect(nameIn("i1")).toEqual(["eve", 2])
})

test("a state of an undone turn is discarded", async () => {
  const { database } = world.store
  database.run("PRAGMA foreign_keys = ON")
  database.run("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
  database.run("CREATE TABLE child (id REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)")
  const doomed = rejectionOf(renameAccount(world.cx(), "1", "lost"))
  nameIn("i1")
  database.run("INSERT INTO child VALUES (7)")
  await doomed
  expect(nameIn("i1")).toEqual(["ada", 1])
})

test("the first confirmed caller sees all other transactions of its turn", async () => {
  nameIn("i1")
  const first = openAccount(world.cx(), "2", { name: "bob" })
  const second = renameAccount(world.cx(), "1", "eve")
  await first
  expect(nameIn("i1")).toEqual(["eve", 2])
  await second
})

/** Reads so many others that no earlier state remains in memory. */
const evictCache = () => {
  for (let id = 0; id < 20_000; id++) nameIn("i1", `absent${id}`)
}

test("evicted states are read again", async () => {
  evictCache()
  expect(nameIn("i1")).toEqual(["ada", 1])
})

describe("a stream of one event", () => {
  const rows = () =>
    world.store.database
      .query<{ id: string; version: number }, []>("SELECT id, version FROM state ORDER BY id")
      .all()

  test("has no state row, and one from the second event on", async () => {
    expect(rows()).toEqual([])
    expect(nameIn("i1")).toEqual(["ada", 1])
    const first = world.store.receipt(world.cx(), account, "1")
    await world.clock.advance(1000)
    await renameAccount(world.cx(), "1", "eve")
    expect(rows()).toEqual([{ id: "1", version: 2 }])
    expect(nameIn("i1")).toEqual(["eve", 2])
    const second = world.store.receipt(world.cx(), account, "1")
    const { created, owner } = first ?? {}
    expect(second).toMatchObject({ created, owner, changed: (first?.changed ?? 0) + 1000 })
  })

  test("is rejected for decisions if it is damaged", async () => {
    evictCache()
    world.store.database.run('UPDATE event SET data = \'{"name":"mallory"}\'')
    expect(await rejectionOf(renameAccount(world.cx(), "1", "eve"))).toBe(
      "data_loss store.event_damaged",
    )
  })

  test("is read as the current code writes it", async () => {
    const upcasters = {
      "account.opened": [
        ({ name }: Record<string, unknown>, secret: Record<string, unknown> | null) => ({
          data: { name: `${name}!` },
          private: secret,
        }),
      ],
    }
    const { file, remove } = temporaryFile()
    let store = openFile(file, modules)
    await openAccount({ ...world.cx(), store }, "1", { name: "ada" })
    await store.close()
    store = openFile(file, { ...modules, aggregates: [{ ...account, upcasters }] })
    expect(store.state(world.cx(), account, "1").name).toBe("ada!")
    await store.close()
    remove()
  })
})
