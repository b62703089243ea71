import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createIds } from "../../src/kernel/id.ts"
import { aggregate, type Event, table, text, view } from "../../src/store/index.ts"
import type { Log } from "../../src/store/log/log.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import { pause } from "../support/wait.ts"
import {
  account,
  accounts,
  allAccounts,
  eraseAccount,
  modules,
  onInstance,
  openAccount,
  rejectionOf,
  renameAccount,
  reserveCode,
} from "./account.ts"

describe("a transaction", () => {
  let world: TestEnvironment
  beforeEach(() => {
    world = openTestEnvironment(modules)
  })
  afterEach(() => world.close())
  const names = (call = {}) => world.store.all(world.cx(call), allAccounts).map((row) => row.name)

  test("is visible to all readers once it is confirmed", async () => {
    const receipt = await openAccount(world.cx(), "1", { name: "ada" })
    expect(receipt).toMatchObject({ id: "1", version: 1, position: 1, created: receipt.changed })
    expect(names()).toEqual(["ada"])
    expect(world.store.state(world.cx(), account, "1")).toMatchObject({ name: "ada" })
  })

  test("returns the versions of its streams, whatever came later", async () => {
    const cx = world.cx()
    const { store } = world
    const step = await store.transact(cx, (tx) => {
      openAccount.within(tx, "1", { name: "ada" })
      openAccount.within(tx, "2", { name: "bob" })
      renameAccount.within(tx, "1", "eve")
    })
    await renameAccount(cx, "1", "later")
    expect(step.receipt(account, "1")).toMatchObject({ version: 2, position: 2 })
    expect(step.receipt(account, "2")).toMatchObject({ version: 1, position: 3 })
    expect(store.receipt(cx, account, "1")).toMatchObject({ version: 3, position: 4 })
  })

  test("records its position in its call, also in a copy of it", async () => {
    const written: { position?: number } = {}
    const cx = world.cx({ written })
    await openAccount({ ...cx, languages: ["de"] }, "1", { name: "ada" })
    expect(cx.written).toEqual({ position: 1 })
    await world.store.transact(cx, () => undefined)
    expect(cx.written).toEqual({ position: 1 })
  })

  test("that creates a stream sees its own events", async () => {
    const step = await world.store.transact(world.cx(), (tx) => {
      tx.begin(account, "1")
      openAccount.within(tx, "1", { name: "ada" })
      return tx.state(account, "1").name
    })
    expect(step.value).toBe("ada")
    expect(step.receipt(account, "1")).toMatchObject({ version: 1, position: 1 })
    await renameAccount(world.cx(), "1", "eve")
    expect(names()).toEqual(["eve"])
  })

  test("that creates an existing stream is decided on its current state", async () => {
    await openAccount(world.cx(), "1", { name: "ada" })
    await renameAccount(world.cx(), "1", "eve")
    const found: string[] = []
    const begun = (id: string, name: string, { store } = world) =>
      store.transact(world.cx(), (tx) => {
        tx.begin(account, id)
        found.push(tx.state(account, id).status)
        openAccount.within(tx, id, { name })
      })
    // Unrelated concurrent transactions are not affected.
    const all = await Promise.allSettled([begun("2", "bob"), begun("1", "mal"), begun("3", "cy")])
    expect(all.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"])
    found.length = 0
    await expect(begun("1", "mal")).rejects.toThrow("It exists.")
    // No one reads before the result is known.
    expect(found).toEqual(["absent", "open"])
    const tried = { ...world, store: world.store.rehearse() }
    await expect(begun("1", "mal", tried)).rejects.toThrow("It exists.")
    expect(await begun("5", "dee", tried)).toMatchObject({ value: undefined })
    expect(names().toSorted()).toEqual(["bob", "cy", "eve"])
    const refused = { name: "mal" }
    expect(await openAccount(world.cx(), "4", refused)).toMatchObject({ version: 1 })
  })

  test("that creates a stream without events throws", async () => {
    const nothing = world.store.transact(world.cx(), (tx) => {
      tx.begin(account, "1")
      openAccount.within(tx, "2", { name: "ada" })
    })
    await expect(nothing).rejects.toThrow("account/1 was declared empty, but has no new events")
    expect(names()).toEqual([])
  })

  test("is serialized with fifty concurrent ones on one stream", async () => {
    await openAccount(world.cx(), "1", { name: "ada" })
    const all = Array.from({ length: 50 }, (_, n) => renameAccount(world.cx(), "1", `n${n}`))
    const versions = (await Promise.all(all)).map((receipt) => receipt.version)
    expect(versions.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => n + 2))
  })

  test("succeeds once among twenty with the same name", async () => {
    const tries = Array.from({ length: 20 }, (_, n) =>
      rejectionOf(openAccount(world.cx(), `${n}`, { name: "ada" })),
    )
    const refused = (await Promise.all(tries)).filter((each) => each !== "nothing")
    expect(refused).toEqual(Array(19).fill("already_exists account.name_taken"))
    expect(names()).toEqual(["ada"])
  })

  test("that changes a name releases the old one in the same step", async () => {
    const cx = world.cx()
    await openAccount(cx, "1", { name: "ada" })
    await openAccount(cx, "2", { name: "bob" })
    await world.store.transact(cx, (tx) => {
      // The name is claimed before it is released, in the order of decisions.
      renameAccount.within(tx, "2", "ada")
      renameAccount.within(tx, "1", "carl")
    })
    expect(names()).toEqual(["carl", "ada"])
    expect(await rejectionOf(openAccount(cx, "3", { name: "bob" }))).toBe("nothing")
  })

  test("that reserves a code holds it exactly until its time", async () => {
    const expires = world.clock.now() + 1000
    await reserveCode(world.cx(), "1", { code: "x", expires })
    const other = () => rejectionOf(reserveCode(world.cx(), "2", { code: "x", expires: 1e15 }))
    world.clock.advance(999)
    expect(await other()).toBe("already_exists account.code_taken")
    world.clock.advance(1)
    expect(await other()).toBe("nothing")
  })

  test("whose stream keeps changing is aborted", async () => {
    await openAccount(world.cx(), "1", { name: "ada" })
    let appends = 0
    const stubborn: Partial<Log> = {
      append: async () => {
        appends++
        return { kind: "conflict", stream: "account", id: "1" }
      },
    }
    Object.assign(world.store, { log: { ...world.store.log, ...stubborn } })
    expect(await rejectionOf(renameAccount(world.cx(), "1", "x"))).toBe("aborted store.conflict")
    expect(appends).toBe(4)
  })

  test("is decided again on newer state after a conflict", async () => {
    const cx = world.cx()
    await openAccount(cx, "1", { name: "ada" })
    const { log } = world.store
    const interfering: Partial<Log> = {
      append: async (step) => {
        Object.assign(world.store, { log })
        await renameAccount(world.cx(), "1", "meanwhile")
        return log.append(step)
      },
    }
    Object.assign(world.store, { log: { ...log, ...interfering } })
    const seen: string[] = []
    await world.store.transact(cx, (tx) => {
      seen.push(tx.state(account, "1").name)
      renameAccount.within(tx, "1", `${tx.state(account, "1").name} 2`)
    })
    expect(seen).toEqual(["ada", "meanwhile"])
    expect(names()).toEqual(["meanwhile 2"])
  })

  test("keeps the order of the log and increasing IDs when the clock goes back", async () => {
    const cx = world.cx()
    const before = cx.ids.next()
    await openAccount(cx, before, { name: "ada" })
    world.clock.advance(-3_600_000)
    const after = cx.ids.next()
    await openAccount(cx, after, { name: "bob" })
    expect(after > before).toBe(true)
    const events = await world.store.log.read(0, 10)
    expect(events.map((event) => event.id)).toEqual([before, after])
    expect(events[1]?.time).toBe((events[0]?.time ?? 0) - 3_600_000)
  })

  test("keeps IDs increasing after a restart, too, when a clock was ahead", async () => {
    world.clock.advance(86_400_000)
    await openAccount(world.cx(), world.cx().ids.next(), { name: "ada" })
    world.clock.advance(-86_400_000)
    const made = ["bob", "eve"].map((name) => ({ name, id: world.cx().ids.next() }))
    for (const { id, name } of made) await openAccount(world.cx(), id, { name })
    world = await world.reopen([accounts])
    const ids = createIds(world.clock, 0, world.store.newest())
    expect(ids.next() > (made[1]?.id ?? "")).toBe(true)
  })

  test("waits alone while another program has locked the file", async () => {
    await openAccount(world.cx(), "1", { name: "ada" })
    const other = new Database(world.store.database.filename)
    other.run("BEGIN IMMEDIATE")
    const answers = ["2", "3"].map((id) => openAccount(world.cx(), id, { name: `n${id}` }))
    answers.push(renameAccount(world.cx(), "1", "eve"))
    // Timers that run meanwhile: nothing blocks the event loop for the lock.
    for (let turn = 0; turn < 20; turn++) {
      await pause(10, "nothing may be written while it is locked, and nothing signals that")
    }
    const first = await Promise.race([Promise.any(answers), Promise.resolve("nobody")])
    expect([names(), first]).toEqual([["ada"], "nobody"])
    other.run("COMMIT")
    other.close()
    await Promise.all(answers)
    expect([names(), world.store.database.inTransaction]).toEqual([["eve", "n2", "n3"], false])
  })

  test("is rejected and undone on a full disk; reads continue, and it works afterwards", async () => {
    await openAccount(world.cx(), "1", { name: "ada" })
    const { database } = world.store
    const pages = database.query<{ page_count: number }, []>("PRAGMA page_count").get()?.page_count
    database.run(`PRAGMA max_page_count = ${pages}`)
    const large = { name: "bob", email: "x".repeat(100_000) }
    const refusal = "unavailable store.disk_full"
    expect(await rejectionOf(openAccount(world.cx(), "2", large))).toBe(refusal)
    expect(names()).toEqual(["ada"])
    database.run("PRAGMA max_page_count = 1000000")
    expect(await rejectionOf(openAccount(world.cx(), "2", large))).toBe("nothing")
    expect(names()).toEqual(["ada", "bob"])
  })
})

describe("two instances with equal IDs", () => {
  test("are isolated from each other", async () => {
    const world = openTestEnvironment(modules)
    const [one, two] = [world.cx(onInstance("i1")), world.cx(onInstance("i2"))]
    await openAccount(one, "1", { name: "ada" })
    await openAccount(two, "1", { name: "ada", email: "two@example.com" })
    await renameAccount(one, "1", "eve")
    await reserveCode(one, "1", { code: "x", expires: 1e15 })
    await reserveCode(two, "1", { code: "x", expires: 1e15 })
    const rows = (cx: typeof one) => world.store.all(cx, allAccounts)
    expect(rows(one)).toEqual([{ id: "1", name: "eve", email: "ada@example.com" }])
    expect(rows(two)).toEqual([{ id: "1", name: "ada", email: "two@example.com" }])
    expect(world.store.state(two, account, "1").name).toBe("ada")
    expect(world.store.receipt(two, account, "1")?.version).toBe(2)
    await eraseAccount(two, "1")
    expect(rows(one)).toHaveLength(1)
    expect(rows(two)).toEqual([])
    const privates = (await world.store.log.read(0, 10)).map((event) => event.private)
    expect(privates.filter((each) => each !== null)).toEqual([{ email: "ada@example.com" }])
    await world.close()
  })

  test("stay isolated even if a query gets the other's name as a value", async () => {
    const world = openTestEnvironment(modules)
    await openAccount(world.cx(), "1", { name: "ada" })
    expect(world.store.all(world.cx(onInstance("i2")), allAccounts, { instance: "i1" })).toEqual([])
    await world.close()
  })
})

describe("an error inside a transaction undoes all of it", () => {
  type PotEvent = Event<"pot.filled", { with: string }> | Event<"pot.broken">
  const fail = () => {
    throw new Error("broken")
  }
  const pot = (evolves: boolean) =>
    aggregate<PotEvent, string>({
      stream: "pot",
      initial: "",
      evolve: {
        "pot.filled": (_, { data }) => data.with,
        "pot.broken": evolves ? (state) => state : fail,
      },
    })
  const potTable = table("pots", { id: text() }, { key: ["id"] })
  const pots = view<PotEvent>({
    name: "pot",
    tables: [potTable],
    on: { "pot.filled": (db, { id }) => potTable.insert(db, { id }), "pot.broken": fail },
  })

  for (const [where, evolves] of [
    ["a reducer", true],
    ["evolve", false],
  ] as const) {
    test(where, async () => {
      const kind = pot(evolves)
      const world = openTestEnvironment({ aggregates: [kind, account], views: [pots, accounts] })
      const { store, cx } = world
      const broken = store.transact(cx(), (tx) => {
        tx.append(kind, "p", [{ type: "pot.filled", data: { with: "tea" } }])
        openAccount.within(tx, "1", { name: "ada" })
        tx.append(kind, "p", [{ type: "pot.broken", data: {} }])
      })
      await expect(broken).rejects.toThrow("broken")
      const count = (table: string) =>
        store.database.query(`SELECT count(*) AS n FROM ${table}`).get()
      for (const table of ["event", "claim", "state", "name", "kind", "pots_1"]) {
        expect(count(table), table).toEqual({ n: 0 })
      }
      // The codes of the names are assigned again, and map back to them.
      await openAccount(cx(), "1", { name: "ada" })
      const fill = () => tx(kind, "tea")
      const tx = (of: typeof kind, label: string) =>
        store.transact(cx(), (step) =>
          step.append(of, "p", [{ type: "pot.filled", data: { with: label } }]),
        )
      await fill()
      const types = (await store.log.read(0, 9)).map((event) => event.type)
      expect(types).toEqual(["account.opened", "pot.filled"])
      await world.close()
    })
  }
})
