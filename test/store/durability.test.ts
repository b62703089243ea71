import { writeFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { createSharedSync, type Durability } from "../../src/store/log/durability.ts"
import { createEventTypes } from "../../src/store/log/event-types.ts"
import type { ApplyEvent } from "../../src/store/log/log.ts"
import { createNames } from "../../src/store/log/row.ts"
import { createSqliteLog } from "../../src/store/log/sqlite-log.ts"
import { openTestEnvironment } from "../support/test-environment.ts"
import { modules, openAccount, rejectionOf, renameAccount, temporaryFile } from "./account.ts"

/** A disk whose syncs end under control of the test. */
function slowDisk() {
  const { file, remove } = temporaryFile()
  writeFileSync(file, "")
  const pending: ((cause: Error | null) => void)[] = []
  const failures: Error[] = []
  const durability = createSharedSync(file, 0, {
    failed: (cause) => failures.push(cause),
    sync: (_, done) => pending.push(done),
  })
  const finish = (cause: Error | null = null) => pending.shift()?.(cause)
  return { durability, pending, failures, finish, remove }
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  const note = () => {
    settled = true
  }
  void promise.then(note, note)
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

describe("the shared sync", () => {
  test("confirms a commit only after a sync that started later", async () => {
    const { durability, finish, remove } = slowDisk()
    durability.recordCommit(1)
    const first = durability.waitUntilSynced()
    durability.recordCommit(2)
    const second = durability.waitUntilSynced()
    expect(await isSettled(first)).toBe(false)
    finish()
    expect([await isSettled(first), await isSettled(second)]).toEqual([true, false])
    expect(durability.durablePosition()).toBe(1)
    finish()
    expect(await isSettled(second)).toBe(true)
    expect(durability.durablePosition()).toBe(2)
    remove()
  })

  test("is shared by all waiting commits", async () => {
    const { durability, pending, finish, remove } = slowDisk()
    durability.recordCommit(1)
    const waiting = [durability.waitUntilSynced()]
    for (let position = 2; position < 50; position++) {
      durability.recordCommit(position)
      waiting.push(durability.waitUntilSynced())
    }
    finish()
    expect(pending).toHaveLength(1)
    finish()
    await Promise.all(waiting)
    expect(pending).toHaveLength(0)
    remove()
  })

  test("is skipped if nothing was written since", async () => {
    const { durability, pending, remove } = slowDisk()
    await durability.waitUntilSynced()
    expect(pending).toHaveLength(0)
    remove()
  })

  test("is fatal if it fails, and confirms nothing any more", async () => {
    const { durability, failures, finish, remove } = slowDisk()
    durability.recordCommit(1)
    const waiting = durability.waitUntilSynced()
    finish(new Error("EIO"))
    durability.recordCommit(2)
    const later = durability.waitUntilSynced()
    expect([await isSettled(waiting), await isSettled(later)]).toEqual([false, false])
    expect(failures.map((cause) => cause.message)).toEqual(["EIO"])
    expect(durability.durablePosition()).toBe(0)
    remove()
  })
})

/** A store with a log that uses the given durability. */
function storeOn(durability: Durability) {
  const world = openTestEnvironment(modules)
  const { database } = world.store
  const applied: string[] = []
  const apply: ApplyEvent = (event) => applied.push(event.type)
  const log = createSqliteLog({
    database,
    durability,
    apply,
    head: 0,
    names: createNames(database),
    eventTypes: createEventTypes(database),
    faultOf: () => undefined,
    gate: {
      open: () => undefined,
      committed: () => undefined,
      scrub: async () => undefined,
      close: async () => undefined,
    },
  })
  const real = world.store.log
  Object.assign(world.store, { log })
  const close = async () => {
    Object.assign(world.store, { log: real })
    await world.close()
  }
  return { world, log, applied, close }
}

describe("transactions during a sync", () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  test("are committed together when it ends, and confirmed by the next", async () => {
    const { durability, pending, finish, remove } = slowDisk()
    const { world, close } = storeOn(durability)
    const { database } = world.store
    const answers = [openAccount(world.cx(), "1", { name: "ada" })]
    await turn()
    expect([database.inTransaction, pending.length]).toEqual([false, 1])
    for (const id of ["2", "3", "4"]) {
      answers.push(openAccount(world.cx(), id, { name: `n${id}` }))
      await turn()
      expect([database.inTransaction, pending.length]).toEqual([true, 1])
    }
    finish()
    await answers[0]
    await turn()
    expect([database.inTransaction, pending.length]).toEqual([false, 1])
    expect(await isSettled(Promise.race(answers.slice(1)))).toBe(false)
    finish()
    await Promise.all(answers)
    await close()
    remove()
  })

  test("are committed immediately if requested", async () => {
    const { durability, finish, remove } = slowDisk()
    const { world, log, close } = storeOn(durability)
    const first = openAccount(world.cx(), "1", { name: "ada" })
    await turn()
    const second = openAccount(world.cx(), "2", { name: "eve" })
    await turn()
    log.flush()
    expect(world.store.database.inTransaction).toBe(false)
    finish()
    await first
    expect(await isSettled(second)).toBe(false)
    finish()
    await second
    await close()
    remove()
  })
})

describe("nothing is confirmed before it is on disk", () => {
  /** A store whose log waits for a disk that the test controls. */
  function held() {
    const { promise, resolve } = Promise.withResolvers<void>()
    let position = 0
    const durability: Durability = {
      recordCommit: () => undefined,
      waitUntilSynced: async () => {
        await promise
        position = 1e9
      },
      currentSync: () => undefined,
      durablePosition: () => position,
      close: async () => undefined,
    }
    return { ...storeOn(durability), release: resolve }
  }

  test("a transaction with events", async () => {
    const { world, release, applied, close } = held()
    const answer = openAccount(world.cx(), "1", { name: "ada" })
    expect(await isSettled(answer)).toBe(false)
    expect(applied).toEqual(["account.opened"])
    expect(await world.store.log.read(0, 10)).toEqual([])
    release()
    await answer
    expect(await world.store.log.read(0, 10)).toHaveLength(1)
    await close()
  })

  test("a read-only transaction, a rejection, and a name that was just claimed", async () => {
    const { world, release, close } = held()
    const first = openAccount(world.cx(), "1", { name: "ada" })
    const read = world.store.transact(world.cx(), (tx) => tx.holder("name", "ada"))
    const refused = rejectionOf(renameAccount(world.cx(), "9", "x"))
    const taken = rejectionOf(openAccount(world.cx(), "2", { name: "ada" }))
    for (const answer of [read, refused, taken]) expect(await isSettled(answer)).toBe(false)
    release()
    await first
    expect((await read).value).toEqual({ stream: "account", id: "1" })
    expect(await refused).toBe("not_found account.missing")
    expect(await taken).toBe("already_exists account.name_taken")
    await close()
  })
})
