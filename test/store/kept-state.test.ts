// States are kept in memory for queries; nobody may ever see one that is not so.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { openWorld, type World } from "../support/world.ts"
import {
  account,
  modules,
  openAccount,
  openFile,
  refusalOf,
  renameAccount,
  temporaryFile,
} from "./account.ts"

let world: World
beforeEach(async () => {
  world = openWorld(modules)
  await openAccount(world.cx(), "1", { name: "ada" })
})
afterEach(() => world.close())
const nameIn = (instance: string, id = "1") => {
  const cx = world.cx({ instance })
  return [world.store.state(cx, account, id).name, world.store.receipt(cx, account, id)?.version]
}

test("nobody fills the memory with long ids that they make up", async () => {
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

test("a state is the new one for whoever was answered, and for everybody after", async () => {
  for (let round = 0; round < 50; round++) {
    expect(nameIn("i1")[1]).toBe(round + 1)
    const renaming = renameAccount(world.cx(), "1", `n${round}`)
    nameIn("i1")
    await renaming
    expect(nameIn("i1")).toEqual([`n${round}`, round + 2])
  }
})

test("a stream that was not there is found once it is, and in its own instance only", async () => {
  expect(nameIn("i2")).toEqual(["", undefined])
  await openAccount(world.cx({ instance: "i2" }), "1", { name: "eve" })
  expect(nameIn("i2")).toEqual(["eve", 1])
  expect(nameIn("i1")).toEqual(["ada", 1])
})

test("a step that is refused leaves the state that was", async () => {
  await openAccount(world.cx(), "2", { name: "bob" })
  expect(nameIn("i1", "2")).toEqual(["bob", 1])
  expect(await refusalOf(renameAccount(world.cx(), "2", "ada"))).not.toBe("nothing")
  expect(nameIn("i1", "2")).toEqual(["bob", 1])
})

test("what a step wrote before it broke is forgotten", async () => {
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

test("a state of a turn that was undone is forgotten", async () => {
  const { database } = world.store
  database.run("PRAGMA foreign_keys = ON")
  database.run("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
  database.run("CREATE TABLE child (id REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)")
  const doomed = refusalOf(renameAccount(world.cx(), "1", "lost"))
  nameIn("i1")
  database.run("INSERT INTO child VALUES (7)")
  await doomed
  expect(nameIn("i1")).toEqual(["ada", 1])
})

test("whoever is answered first sees what all others of its turn have done", async () => {
  nameIn("i1")
  const first = openAccount(world.cx(), "2", { name: "bob" })
  const second = renameAccount(world.cx(), "1", "eve")
  await first
  expect(nameIn("i1")).toEqual(["eve", 2])
  await second
})

/** Looks at so many others that nothing from before is kept in memory. */
const lookElsewhere = () => {
  for (let id = 0; id < 20_000; id++) nameIn("i1", `absent${id}`)
}

test("states that fell out of memory are read again", async () => {
  lookElsewhere()
  expect(nameIn("i1")).toEqual(["ada", 1])
})

describe("a stream of one event", () => {
  const rows = () =>
    world.store.database
      .query<{ id: string; version: number }, []>("SELECT id, version FROM state ORDER BY id")
      .all()

  test("has no row of its own, and one from the second on", async () => {
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

  test("that is damaged is refused to whoever decides by it", async () => {
    lookElsewhere()
    world.store.database.run('UPDATE event SET data = \'{"name":"mallory"}\'')
    expect(await refusalOf(renameAccount(world.cx(), "1", "eve"))).toBe(
      "data_loss store.event_damaged",
    )
  })

  test("is read as today's code writes it", async () => {
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
