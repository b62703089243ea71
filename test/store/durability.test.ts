import { writeFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { type Durability, sharedSync } from "../../src/store/log/durability.ts"
import { eventTypesOf } from "../../src/store/log/event-types.ts"
import type { Apply } from "../../src/store/log/log.ts"
import { namesOf } from "../../src/store/log/row.ts"
import { sqliteLog } from "../../src/store/log/sqlite-log.ts"
import { openWorld } from "../support/world.ts"
import { modules, openAccount, refusalOf, renameAccount, temporaryFile } from "./account.ts"

/** A disk whose syncs end when the test says so. */
function slowDisk() {
  const { file, remove } = temporaryFile()
  writeFileSync(file, "")
  const pending: ((cause: Error | null) => void)[] = []
  const failures: Error[] = []
  const durability = sharedSync(file, 0, {
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
  test("answers a commit only when a sync that began after it has ended", async () => {
    const { durability, finish, remove } = slowDisk()
    durability.wrote(1)
    const first = durability.settle()
    durability.wrote(2)
    const second = durability.settle()
    expect(await isSettled(first)).toBe(false)
    finish()
    expect([await isSettled(first), await isSettled(second)]).toEqual([true, false])
    expect(durability.durable()).toBe(1)
    finish()
    expect(await isSettled(second)).toBe(true)
    expect(durability.durable()).toBe(2)
    remove()
  })

  test("is one for all that wait", async () => {
    const { durability, pending, finish, remove } = slowDisk()
    durability.wrote(1)
    const waiting = [durability.settle()]
    for (let position = 2; position < 50; position++) {
      durability.wrote(position)
      waiting.push(durability.settle())
    }
    finish()
    expect(pending).toHaveLength(1)
    finish()
    await Promise.all(waiting)
    expect(pending).toHaveLength(0)
    remove()
  })

  test("costs nothing when nothing was written since", async () => {
    const { durability, pending, remove } = slowDisk()
    await durability.settle()
    expect(pending).toHaveLength(0)
    remove()
  })

  test("that fails is fatal, and nobody is answered any more", async () => {
    const { durability, failures, finish, remove } = slowDisk()
    durability.wrote(1)
    const waiting = durability.settle()
    finish(new Error("EIO"))
    durability.wrote(2)
    const later = durability.settle()
    expect([await isSettled(waiting), await isSettled(later)]).toEqual([false, false])
    expect(failures.map((cause) => cause.message)).toEqual(["EIO"])
    expect(durability.durable()).toBe(0)
    remove()
  })
})

/** A store whose log syncs by what it is given. */
function storeOn(durability: Durability) {
  const world = openWorld(modules)
  const { database } = world.store
  const applied: string[] = []
  const apply: Apply = (event) => applied.push(event.type)
  const log = sqliteLog({
    database,
    durability,
    apply,
    head: 0,
    names: namesOf(database),
    eventTypes: eventTypesOf(database),
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

describe("steps that come while a sync is under way", () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  test("are committed together when it ends, and answered by the next", async () => {
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

  test("are committed at once where somebody needs it", async () => {
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

describe("nothing is acknowledged before it is on disk", () => {
  /** A store whose log waits for a disk that the test holds. */
  function held() {
    const { promise, resolve } = Promise.withResolvers<void>()
    let position = 0
    const durability: Durability = {
      wrote: () => undefined,
      settle: async () => {
        await promise
        position = 1e9
      },
      syncing: () => undefined,
      durable: () => position,
      close: async () => undefined,
    }
    return { ...storeOn(durability), release: resolve }
  }

  test("a step that appends", async () => {
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

  test("a step that only read, a refusal, and a name that has just been taken", async () => {
    const { world, release, close } = held()
    const first = openAccount(world.cx(), "1", { name: "ada" })
    const read = world.store.transact(world.cx(), (tx) => tx.holder("name", "ada"))
    const refused = refusalOf(renameAccount(world.cx(), "9", "x"))
    const taken = refusalOf(openAccount(world.cx(), "2", { name: "ada" }))
    for (const answer of [read, refused, taken]) expect(await isSettled(answer)).toBe(false)
    release()
    await first
    expect((await read).value).toEqual({ stream: "account", id: "1" })
    expect(await refused).toBe("not_found account.missing")
    expect(await taken).toBe("already_exists account.name_taken")
    await close()
  })
})
