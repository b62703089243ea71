// Steps of callers who say up to where they have read what they change.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { Fault } from "../../src/kernel/fault.ts"
import { aggregate, type Cx, type Event, partByKey, type Store } from "../../src/store/index.ts"
import { openBeside } from "../support/beside.ts"
import { needs } from "../support/prerequisite.ts"
import { callerOf, openWorld, type World } from "../support/world.ts"
import { allAccounts, modules, moveAccount, openAccount, renameAccount } from "./account.ts"
import { testNodes } from "./node.ts"

let world: World
beforeEach(async () => {
  world = openWorld(modules)
  await openAccount(world.cx({ requestId: "first" }), "1", { name: "ada" })
})
afterEach(() => world.close())

const names = (store: Store) => store.all({ instance: "i1" }, allAccounts).map(({ name }) => name)

/** What a caller is told who has read up to a position, and what the change is that they missed. */
const outcome = async (step: Promise<unknown>) => {
  try {
    await step
    return "done"
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    return { code: cause.code, id: cause.id, change: cause.change }
  }
}
const stale = (userId: string) => ({
  code: "aborted",
  id: "edit.stale",
  change: { userId, displayName: "", time: Date.UTC(2026, 0, 2) },
})
const by = (requestId: string, expectedVersion?: number): Cx =>
  world.cx({ requestId, expectedVersion, caller: callerOf(requestId) })

describe("a step whose caller has read up to a position", () => {
  test("is done where nothing came later", async () => {
    expect(await outcome(renameAccount(by("ada", 1), "1", "eve"))).toBe("done")
    expect(names(world.store)).toEqual(["eve"])
  })

  test("is refused where the same was changed later, and changes nothing", async () => {
    await renameAccount(by("bob"), "1", "bob")
    expect(await outcome(renameAccount(by("ada", 1), "1", "eve"))).toEqual(stale("bob"))
    expect(names(world.store)).toEqual(["bob"])
    expect(world.store.log.durable()).toBe(2)
  })

  test("names the last of the changes that the caller has not read", async () => {
    await renameAccount(by("bob"), "1", "bob")
    await renameAccount(by("cid"), "1", "cid")
    expect(await outcome(renameAccount(by("ada", 1), "1", "eve"))).toEqual(stale("cid"))
    expect(await outcome(renameAccount(by("ada", 3), "1", "eve"))).toBe("done")
  })

  test("is refused where both are sent at once", async () => {
    const both = ["bob", "eve"].map((name) => outcome(renameAccount(by(name, 1), "1", name)))
    expect(await Promise.all(both)).toEqual(["done", stale("bob")])
    expect(names(world.store)).toEqual(["bob"])
  })

  test("does not mind what happens in other streams", async () => {
    await openAccount(by("bob"), "2", { name: "bob" })
    expect(await outcome(renameAccount(by("ada", 1), "1", "eve"))).toBe("done")
  })

  test("does not mind what follows in other streams from what it changes", async () => {
    await openAccount(by("bob"), "2", { name: "bob" })
    const step = world.store.transact(by("ada", 1), (tx) => {
      renameAccount.within(tx, "1", "eve")
      renameAccount.within(tx, "2", "dan")
    })
    expect(await outcome(step)).toBe("done")
  })

  test("does not mind what its own call has appended before", async () => {
    const cx = by("ada", 1)
    expect(await outcome(renameAccount(cx, "1", "eve"))).toBe("done")
    expect(await outcome(renameAccount(cx, "1", "dan"))).toBe("done")
  })

  test("is refused for a change behind more than one page of the call's own", async () => {
    await renameAccount(by("bob"), "1", "bob")
    const cx = by("ada")
    const moves = Array.from({ length: 150 }, (_, at) => `${at}@example.com`)
    for (const email of moves) await moveAccount(cx, "1", email)
    const step = renameAccount({ ...cx, expectedVersion: 1 }, "1", "eve")
    expect(await outcome(step)).toEqual(stale("bob"))
  })

  test("is refused where too much has happened since, without reading all of it", async () => {
    const cx = by("ada")
    for (let at = 0; at < 1100; at++) await moveAccount(cx, "1", `${at}@example.com`)
    const history = vi.spyOn(world.store.log, "history")
    const step = renameAccount(by("ada", 0), "1", "eve")
    expect(await outcome(step)).toEqual(stale(""))
    expect(history.mock.calls).toHaveLength(10)
    expect(names(world.store)).toEqual(["ada"])
  })

  test("is refused where the log has not come as far", async () => {
    expect(await outcome(renameAccount(by("ada", 2), "1", "eve"))).toMatchObject({
      code: "invalid_argument",
      id: "edit.version_unknown",
    })
    expect(names(world.store)).toEqual(["ada"])
  })

  test("is decided from the file of a process that only reads it, too", async () => {
    const options = { ...modules, file: world.store.database.filename }
    const beside = openBeside(world.store, options, 1)
    await renameAccount(by("bob"), "1", "bob")
    beside.store.worker?.renew()
    const on = (cx: Cx) => ({ ...cx, store: beside.store })
    expect(await outcome(renameAccount(on(by("ada", 1)), "1", "eve"))).toEqual(stale("bob"))
    expect(await outcome(renameAccount(on(by("ada", 2)), "1", "eve"))).toBe("done")
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

test("a change of another part of the same stream does not refuse a step", async () => {
  const lamps = openWorld({ aggregates: [lamp], views: [] })
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
  part: partByKey("key"),
  initial: null,
  evolve: { "shelf.book.set": () => null },
})
const put = shelf.command<{ key: string; title: string }>((_, data) => [
  { type: "shelf.book.set", data },
])

test("a change of another thing in the same stream does not refuse a step", async () => {
  const shelves = openWorld({ aggregates: [shelf], views: [] })
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

  test("a step is refused for what another node has appended later", async () => {
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

  test("of two steps that come at once on two nodes one is refused", async () => {
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
