// What is stored of an event: erasure, checksums, and payload revisions.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { aggregate, type Event } from "../../src/store/index.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import { eraseAccount, modules, moveAccount, openAccount, rejectionOf } from "./account.ts"

describe("an erasure", () => {
  let world: TestEnvironment
  beforeEach(async () => {
    world = openTestEnvironment(modules)
    await openAccount(world.cx(), "1", { name: "ada", email: "first@example.com" })
    await openAccount(world.cx(), "2", { name: "bob", email: "bob@example.com" })
  })
  afterEach(() => world.close())
  const privates = async () => (await world.store.log.read(0, 99)).map((event) => event.private)

  test("erases superseded values, and nothing of other streams", async () => {
    await moveAccount(world.cx(), "1", "second@example.com")
    await moveAccount(world.cx(), "1", "third@example.com")
    const kept = [null, { email: "bob@example.com" }, null, { email: "third@example.com" }]
    expect(await privates()).toEqual(kept)
  })

  test("leaves no personal text in the file, for a whole stream and its state", async () => {
    await eraseAccount(world.cx(), "1")
    const { database } = world.store
    database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    const bytes = database.serialize()
    expect(bytes.includes("bob@example.com")).toBe(true)
    expect(bytes.includes("first@example.com")).toBe(false)
  })

  test("keeps checksums verifiable", async () => {
    await eraseAccount(world.cx(), "1")
    expect((await world.store.log.read(0, 99)).map((event) => event.type)).toEqual([
      "account.opened",
      "account.opened",
      "account.erased",
    ])
  })
})

describe("a damaged event is rejected by name:", () => {
  const damages: Readonly<Record<string, string>> = {
    "a byte of data": "data = replace(data, 'ada', 'adb')",
    "a byte of private": "private = replace(private, 'ada@', 'adb@')",
    "another's private": "private = (SELECT private FROM event WHERE position = 2)",
    "a private that is gone though nothing erased it": "private = NULL",
    "its time": "time = time + 1",
    "its owner": "owner = 'x'",
    "its editor": "editor_user = 'mallory'",
  }
  for (const [what, change] of Object.entries(damages)) {
    test(what, async () => {
      const folder = temporaryFolder()
      const world = openTestEnvironment(modules, folder)
      await openAccount(world.cx(), "1", { name: "ada" })
      await openAccount(world.cx(), "2", { name: "bob" })
      world.store.database.run(`UPDATE event SET ${change} WHERE position = 1`)
      expect(await rejectionOf(world.store.log.read(0, 9))).toBe("data_loss store.event_damaged")
      await expect(world.store.log.read(0, 9)).rejects.toThrow("event 1 is damaged")
      await world.store.close()
      expect(() => openTestEnvironment(modules, folder)).toThrow("event 1 is damaged")
      folder.remove()
    })
  }
})

describe("upcasters", () => {
  type Old = Event<"pot.filled", { cups: number }>
  type New = Event<"pot.filled", { millilitres: number; of: string }, { who: string }>
  const before = aggregate<Old, number>({
    stream: "pot",
    initial: 0,
    evolve: { "pot.filled": (_, { data }) => data.cups },
  })
  const after = aggregate<New, number>({
    stream: "pot",
    initial: 0,
    evolve: { "pot.filled": (_, { data }) => data.millilitres },
    upcasters: {
      "pot.filled": [
        (data, secret) => ({ data: { millilitres: Number(data.cups) * 250 }, private: secret }),
        (data, secret) => ({ data: { ...data, of: "tea" }, private: secret ?? { who: "" } }),
      ],
    },
  })

  test("convert every payload to the current revision, step by step", async () => {
    const folder = temporaryFolder()
    const old = openTestEnvironment({ aggregates: [before], views: [] }, folder)
    await old.store.transact(old.cx(), (tx) =>
      tx.append(before, "1", [{ type: "pot.filled", data: { cups: 2 } }]),
    )
    await old.store.close()
    const world = openTestEnvironment({ aggregates: [after], views: [] }, folder)
    const data = { millilitres: 5, of: "milk" }
    await world.store.transact(world.cx(), (tx) =>
      tx.append(after, "2", [{ type: "pot.filled", data, private: { who: "ada" } }]),
    )
    expect(await world.store.log.read(0, 9)).toMatchObject([
      { revision: 3, data: { millilitres: 500, of: "tea" }, private: { who: "" } },
      { revision: 3, data, private: { who: "ada" } },
    ])
    expect(world.store.database.query("SELECT revision, data FROM event").values()).toEqual([
      [1, '{"cups":2}'],
      [3, JSON.stringify(data)],
    ])
    await world.close()
  })
})
