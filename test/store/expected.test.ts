// Transactions of callers that state the position up to which they have read.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { Fault } from "../../src/kernel/fault.ts"
import {
  aggregate,
  type Cx,
  type Event,
  type Store,
  streamPartByKey,
} from "../../src/store/index.ts"
import { needs } from "../support/prerequisite.ts"
import { callerOf, openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import { openWorkerStore } from "../support/worker-store.ts"
import { allAccounts, modules, moveAccount, openAccount, renameAccount } from "./account.ts"
import { testNodes } from "./node.ts"

let world: TestEnvironment
beforeEach(async () => {
  world = openTestEnvironment(modules)
  await openAccount(world.cx({ requestId: "first" }), "1", { name: "ada" })
})
afterEach(() => world.close())

const names = (store: Store) => store.all({ instance: "i1" }, allAccounts).map(({ name }) => name)

/** The error for a caller that has read up to a position, with the change that it missed. */
const outcome = async (step: Promise<unknown>) => {
  try {
    await step
    return "done"
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    return { code: cause.code, id: cause.id, change: cause.change }
  }
}
const staleOutcome = (userId: string) => ({
  code: "aborted",
  id: "edit.stale",
  change: { userId, displayName: "", time: Date.UTC(2026, 0, 2) },
})
const callBy = (requestId: string, expectedVersion?: number): Cx =>
  world.cx({ requestId, expectedVersion, caller: callerOf(requestId) })

describe("a transaction whose caller has read up to a position", () => {
  test("succeeds if nothing came later", async () => {
    expect(await outcome(renameAccount(callBy("ada", 1), "1", "eve"))).toBe("done")
    expect(names(world.store)).toEqual(["eve"])
  })

  test("is rejected if the stream has changed since, and changes nothing", async () => {
    await renameAccount(callBy("bob"), "1", "bob")
    expect(await outcome(renameAccount(callBy("ada", 1), "1", "eve"))).toEqual(staleOutcome("bob"))
    expect(names(world.store)).toEqual(["bob"])
    expect(world.store.log.durable()).toBe(2)
  })

  test("contains the last of the unread changes", async () => {
    await renameAccount(callBy("bob"), "1", "bob")
    await renameAccount(callBy("cid"), "1", "cid")
    expect(await outcome(renameAccount(callBy("ada", 1), "1", "eve"))).toEqual(staleOutcome("cid"))
    expect(await outcome(renameAccount(callBy("ada", 3), "1", "eve"))).toBe("done")
  })

  test("is rejected if both are sent concurrently", async () => {
    const both = ["bob", "eve"].map((name) => outcome(renameAccount(callBy(name, 1), "1", name)))
    expect(await Promise.all(both)).toEqual(["done", staleOutcome("bob")])
    expect(names(world.store)).toEqual(["bob"])
  })

  test("ignores events of other streams", async () => {
    await openAccount(callBy("bob"), "2", { name: "bob" })
    expect(await outcome(renameAccount(callBy("ada", 1), "1", "eve"))).toBe("done")
  })

  test("ignores consequences in other streams", async () => {
    await openAccount(callBy("bob"), "2", { name: "bob" })
    const step = world.store.transact(callBy("ada", 1), (tx) => {
      renameAccount.within(tx, "1", "eve")
      renameAccount.within(tx, "2", "dan")
    })
    expect(await outcome(step)).toBe("done")
  })

  test("ignores events of its own call", async () => {
    const cx = callBy("ada", 1)
    expect(await outcome(renameAccount(cx, "1", "eve"))).toBe("done")
    expect(await outcome(renameAccount(cx, "1", "dan"))).toBe("done")
  })

  test("is rejected for a change after more than one page of its own events", async () => {
    await renameAccount(callBy("bob"), "1", "bob")
    const cx = callBy("ada")
    const moves = Array.from({ length: 150 }, (_, at) => `${at}@example.com`)
    for (const email of moves) await moveAccount(cx, "1", email)
    const step = renameAccount({ ...cx, expectedVersion: 1 }, "1", "eve")
    expect(await outcome(step)).toEqual(staleOutcome("bob"))
  })

  test("is rejected after too many events, without reading all of them", async () => {
    const cx = callBy("ada")
    for (let at = 0; at < 1100; at++) await moveAccount(cx, "1", `${at}@example.com`)
    const history = vi.spyOn(world.store.log, "history")
    const step = renameAccount(callBy("ada", 0), "1", "eve")
    expect(await outcome(step)).toEqual(staleOutcome(""))
    expect(history.mock.calls).toHaveLength(10)
    expect(names(world.store)).toEqual(["ada"])
  })

  test("is rejected if the position is beyond the log", async () => {
    expect(await outcome(renameAccount(callBy("ada", 2), "1", "eve"))).toMatchObject({
      code: "invalid_argument",
      id: "edit.version_unknown",
    })
    expect(names(world.store)).toEqual(["ada"])
  })

  test("is also decided by a process that only reads the file", async () => {
    const options = { ...modules, file: world.store.database.filename }
    const beside = openWorkerStore(world.store, options, 1)
    await renameAccount(callBy("bob"), "1", "bob")
    beside.store.worker?.renew()
    const on = (cx: Cx) => ({ ...cx, store: beside.store })
    expect(await outcome(renameAccount(on(callBy("ada", 1)), "1", "eve"))).toEqual(
      staleOutcome("bob"),
    )
    expect(await outcome(renameAccount(on(callBy("ada", 2)), "1", "eve"))).toBe("done")
    await beside.store.close()
    expect(names(world.store)).toEqual(["eve"])
  })
})

type LampEvent =
  | Event<"lamp.changed">
  | Event<"lamp.deactivated">
  | Event<"lamp.color.set", { color: string }>
  | Event<"lamp.watt.set", { watt: number }>
const lamp = aggregate<LampEvent, number>({
  stream: "lamp",
  initial: 0,
  evolve: {
    "lamp.changed": (state) => state,
    "lamp.deactivated": (state) => state,
    "lamp.color.set": (state) => state,
    "lamp.watt.set": (_, { data }) => data.watt,
  },
})
const change = lamp.command(() => [{ type: "lamp.changed", data: {} }])
const deactivate = lamp.command(() => [{ type: "lamp.deactivated", data: {} }])
const paint = lamp.command<string>((_, color) => [{ type: "lamp.color.set", data: { color } }])
const dim = lamp.command<number>((_, watt) => [{ type: "lamp.watt.set", data: { watt } }])

test("a change of another part of the same stream does not reject a transaction", async () => {
  const lamps = openTestEnvironment({ aggregates: [lamp], views: [] })
  const as = (requestId: string, expectedVersion?: number) =>
    lamps.cx({ requestId, expectedVersion })
  await paint(as("one"), "1", "red")
  await dim(as("two"), "1", 40)
  expect(await outcome(paint(as("three", 1), "1", "blue"))).toBe("done")
  expect(await outcome(paint(as("four", 2), "1", "green"))).toMatchObject({ id: "edit.stale" })
  await change(as("five"), "1")
  await deactivate(as("six"), "1")
  expect(await outcome(change(as("seven", 4), "1"))).toBe("done")
  expect(await outcome(change(as("eight", 4), "1"))).toMatchObject({ id: "edit.stale" })
  await lamps.close()
})

type ShelfEvent = Event<"shelf.book.set", { key: string; title: string }>
const shelf = aggregate<ShelfEvent, null>({
  stream: "shelf",
  part: streamPartByKey("key"),
  initial: null,
  evolve: { "shelf.book.set": () => null },
})
const put = shelf.command<{ key: string; title: string }>((_, data) => [
  { type: "shelf.book.set", data },
])

test("a change of another key in the same stream does not reject a transaction", async () => {
  const shelves = openTestEnvironment({ aggregates: [shelf], views: [] })
  const as = (requestId: string, expectedVersion?: number) =>
    shelves.cx({ requestId, expectedVersion })
  await put(as("one"), "1", { key: "a", title: "Emma" })
  await put(as("two"), "1", { key: "b", title: "Ulysses" })
  expect(await outcome(put(as("three", 1), "1", { key: "a", title: "Dune" }))).toBe("done")
  const late = put(as("four", 1), "1", { key: "b", title: "Emma" })
  expect(await outcome(late)).toMatchObject({ id: "edit.stale" })
  await shelves.close()
})

describe.runIf(needs("postgres"))("on nodes whose log is in PostgreSQL", () => {
  const { node, on } = testNodes(modules)

  test("a transaction is rejected for a later event of another node", async () => {
    const [one, two] = [await node(), await node()]
    await openAccount({ ...on(one), requestId: "1" }, "1", { name: "ada" })
    const read = one.log.durable()
    await renameAccount({ ...on(one), requestId: "2" }, "1", "bob")
    const cx = { ...on(two), requestId: "3" }
    await two.node?.caughtUp()
    const step = renameAccount({ ...cx, expectedVersion: read }, "1", "eve")
    expect(await outcome(step)).toMatchObject({ code: "aborted", id: "edit.stale" })
    expect(
      await outcome(renameAccount({ ...cx, expectedVersion: one.log.durable() }, "1", "eve")),
    ).toBe("done")
  })

  test("one of two concurrent transactions on two nodes is rejected", async () => {
    const nodes = [await node(), await node()]
    const [one, two] = nodes
    if (!one || !two) throw new Error("there are two")
    await openAccount({ ...on(one), requestId: "1" }, "1", { name: "ada" })
    const expectedVersion = one.log.durable()
    await two.node?.caughtUp()
    const steps = nodes.map((store, at) => {
      const cx = { ...on(store), requestId: `at once ${at}`, expectedVersion }
      return outcome(renameAccount(cx, "1", `n${at}`))
    })
    const refused = expect.objectContaining({ code: "aborted", id: "edit.stale" })
    expect(new Set(await Promise.all(steps))).toEqual(new Set(["done", refused]))
  })
})
