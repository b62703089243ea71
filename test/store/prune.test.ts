// Expired streams are deleted completely, and nothing else is.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { aggregate, type Event, view } from "../../src/store/index.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import { account, accounts, openAccount, openFile, rejectionOf, temporaryFile } from "./account.ts"
import {
  beginVisit,
  day,
  endVisit,
  hour,
  prolongVisit,
  type VisitEvent,
  visit,
  visitModules,
  visitRows,
  visits,
  writeEntry,
} from "./visit.ts"

let world: TestEnvironment
const modules = {
  aggregates: [account, ...visitModules.aggregates],
  views: [accounts, ...visitModules.views],
}
beforeEach(() => {
  world = openTestEnvironment(modules)
})
afterEach(() => world.close())

const cx = (instance = "i1") => world.cx({ instance })
/** A new permanent event: the newest event of a log is never deleted. */
const openOtherAccount = () => openAccount(cx(), world.cx().ids.next(), { name: cx().ids.next() })

const pruneStore = (
  limits: { position?: number; auditDays?: number; stopped?: () => boolean } = {},
) => {
  const now = world.clock.now()
  return world.store.prune({
    now,
    auditedBefore: now - (limits.auditDays ?? 90) * day,
    position: limits.position ?? Number.MAX_SAFE_INTEGER,
    stopped: limits.stopped ?? (() => false),
  })
}

const idsIn = (table: "event" | "state" | "claim") =>
  world.store.database
    .query<{ id: string }, []>(`SELECT DISTINCT id FROM ${table} WHERE stream IN
      ('visit', (SELECT code FROM name WHERE name = 'visit')) ORDER BY id`)
    .all()
    .map(({ id }) => id)

describe("an expired stream", () => {
  test("is deleted with its events, state, rows, and claims", async () => {
    for (const id of ["1", "2"]) await beginVisit(cx(), id, { name: `guest ${id}` })
    await endVisit(cx(), "1")
    await openOtherAccount()
    world.clock.advance(day + 2 * hour)
    expect(await pruneStore()).toMatchObject({ streams: 1, events: 2, claims: 2 })
    expect([idsIn("event"), idsIn("state"), idsIn("claim")]).toEqual([["2"], ["2"], []])
    expect(visitRows(cx())).toEqual([
      [{ instance: "i1", id: "2", name: "guest 2", owner: "", version: 1 }],
      [],
    ])
    expect(world.store.state(cx(), visit, "1").status).toBe("absent")
    expect(world.store.receipt(cx(), visit, "1")).toBeUndefined()
  })

  test("is kept for another hour, so that a clock that is set back revives nothing", async () => {
    await beginVisit(cx(), "1", { name: "ada" })
    await endVisit(cx(), "1")
    await openOtherAccount()
    world.clock.advance(2 * hour - 1)
    expect(await pruneStore()).toMatchObject({ streams: 0 })
    world.clock.advance(1)
    expect(await pruneStore()).toMatchObject({ streams: 1 })
  })

  test("is deleted in its own instance only, and only this kind of stream", async () => {
    for (const instance of ["i1", "i2"]) await beginVisit(cx(instance), "1", { name: "ada" })
    await openAccount(cx(), "1", { name: "ada" })
    await endVisit(cx(), "1")
    await openOtherAccount()
    world.clock.advance(day)
    await pruneStore()
    expect(visitRows(cx())[0]).toEqual([])
    expect(visitRows(cx("i2"))[0]).toHaveLength(1)
    expect(world.store.state(cx(), account, "1").name).toBe("ada")
  })

  test("is kept while it is prolonged, and deleted afterwards", async () => {
    await beginVisit(cx(), "1", { name: "ada" })
    await prolongVisit(cx(), "1", world.clock.now() + hour)
    await prolongVisit(cx(), "1", world.clock.now() + 9 * day)
    await openOtherAccount()
    world.clock.advance(8 * day)
    expect(await pruneStore()).toMatchObject({ streams: 0 })
    world.clock.advance(2 * day)
    expect(await pruneStore()).toMatchObject({ streams: 1, events: 3 })
  })

  test("is kept if it contains the newest event, which determines the next position", async () => {
    await beginVisit(cx(), "1", { name: "ada" })
    await endVisit(cx(), "1")
    world.clock.advance(day)
    expect(await pruneStore()).toMatchObject({ streams: 0 })
    await openOtherAccount()
    expect(await pruneStore()).toMatchObject({ streams: 1 })
  })

  test("waits for the slowest reactor, with everything that expired later", async () => {
    for (const id of ["1", "2", "3"]) {
      await beginVisit(cx(), id, { name: id })
      await endVisit(cx(), id)
      world.clock.advance(1)
    }
    await openOtherAccount()
    world.clock.advance(day)
    expect(await pruneStore({ position: 3 })).toMatchObject({ streams: 1 })
    expect(idsIn("event")).toEqual(["2", "3"])
    expect(await pruneStore({ position: 5 })).toMatchObject({ streams: 1 })
    expect(await pruneStore({ position: 5 })).toMatchObject({ streams: 0 })
    expect(await pruneStore()).toMatchObject({ streams: 1 })
  })

  test("is deleted before earlier ones that must wait", async () => {
    for (let n = 0; n < 30; n++) await beginVisit(cx(), `early${n}`, { name: `e${n}` })
    for (let n = 0; n < 30; n++) {
      await beginVisit(cx(), `late${n}`, { name: `l${n}` })
      await endVisit(cx(), `late${n}`)
    }
    for (let n = 0; n < 30; n++) await prolongVisit(cx(), `early${n}`, world.clock.now())
    await openOtherAccount()
    world.clock.advance(day)
    const position = world.store.log.durable() - 11
    expect(await pruneStore({ position })).toMatchObject({ streams: 50 })
    expect(await pruneStore()).toMatchObject({ streams: 10 })
  })

  test("is deleted in slices between which other work runs", async () => {
    for (let n = 0; n < 200; n++) await beginVisit(cx(), `${n}`, { name: `${n}` })
    for (let n = 0; n < 200; n++) await endVisit(cx(), `${n}`)
    await openOtherAccount()
    world.clock.advance(day)
    const pruning = pruneStore()
    const between: number[] = []
    let isOver = false
    void pruning.then(() => {
      isOver = true
    })
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve))
      between.push(idsIn("event").length)
    }
    expect(await pruning).toMatchObject({ streams: 200, events: 400 })
    expect(new Set(between).size).toBeGreaterThan(3)
  })

  test("is kept if the server stops first", async () => {
    await beginVisit(cx(), "1", { name: "ada" })
    await endVisit(cx(), "1")
    await openOtherAccount()
    world.clock.advance(day)
    expect(await pruneStore({ stopped: () => true })).toMatchObject({ streams: 0, claims: 0 })
  })
})

describe("an audit stream", () => {
  test("is deleted after the configured retention", async () => {
    await writeEntry(cx(), "e1", "ada")
    world.clock.advance(10 * day)
    await writeEntry(cx(), "e2", "bob")
    await openOtherAccount()
    world.clock.advance(20 * day + hour)
    expect(await pruneStore({ auditDays: 90 })).toMatchObject({ streams: 0 })
    expect(await pruneStore({ auditDays: 30 })).toMatchObject({ streams: 1, events: 1 })
    expect(visitRows(cx())[1]).toMatchObject([{ id: "e2" }])
  })
})

describe("an audit stream of an instance with a shorter retention", () => {
  const sooner = (...days: readonly (readonly [string, number])[]) => {
    const now = world.clock.now()
    return world.store.prune({
      now,
      auditedBefore: now - 90 * day,
      auditedSooner: () => new Map(days.map(([id, count]) => [id, now - count * day])),
      position: Number.MAX_SAFE_INTEGER,
      stopped: () => false,
    })
  }

  test("is deleted earlier, and those of others are kept", async () => {
    for (let each = 0; each < 30; each++) {
      await writeEntry(cx("i1"), `a${each}`, "ada")
      await writeEntry(cx("i2"), `b${each}`, "bob")
    }
    world.clock.advance(5 * day)
    await writeEntry(cx("i1"), "late", "ada")
    await openOtherAccount()
    world.clock.advance(5 * day + 2 * hour)
    expect(await sooner(["i1", 7], ["i3", 1])).toMatchObject({ streams: 30, events: 30 })
    expect(visitRows(cx("i1"))[1]).toMatchObject([{ id: "late" }])
    expect(visitRows(cx("i2"))[1]).toHaveLength(30)
  })

  test("is checked once an hour, and kept if the global retention is shorter", async () => {
    await writeEntry(cx("i1"), "e1", "ada")
    await openOtherAccount()
    expect(await sooner(["i1", 1])).toMatchObject({ streams: 0 })
    world.clock.advance(2 * day)
    expect(await sooner(["i1", 365])).toMatchObject({ streams: 0 })
    world.clock.advance(hour - 60_000)
    expect(await sooner(["i1", 1])).toMatchObject({ streams: 0 })
    world.clock.advance(60_000)
    expect(await sooner(["i1", 1])).toMatchObject({ streams: 1 })
    await writeEntry(cx("i1"), "e2", "ada")
    await openOtherAccount()
    world.clock.advance(91 * day)
    expect(await sooner(["i1", 365])).toMatchObject({ streams: 1 })
  })
})

describe("an ID whose stream was deleted", () => {
  const dropped = async () => {
    await beginVisit(cx(), "1", { name: "ada" })
    await endVisit(cx(), "1")
    await openOtherAccount()
    world.clock.advance(2 * day)
    await pruneStore()
  }

  test("starts again from the initial state at version 1 and an unused position", async () => {
    await dropped()
    const before = world.store.log.durable()
    world.clock.advance(5)
    const { version, position, created } = await beginVisit(cx(), "1", { name: "ada again" })
    expect([version, created]).toEqual([1, world.clock.now()])
    expect(position).toBe(before + 1)
    expect(world.store.state(cx(), visit, "1")).toEqual({ status: "here", beginnings: 1 })
    expect(visitRows(cx())[0]).toMatchObject([{ name: "ada again", version: 1 }])
  })

  test("conflicts with a transaction based on the deleted stream", async () => {
    await dropped()
    const late = await world.store.log.append({
      instance: "i1",
      time: world.clock.now(),
      expect: [{ stream: "visit", id: "1", version: 2 }],
      events: [],
      claims: [],
    })
    expect(late).toMatchObject({ kind: "conflict", stream: "visit", id: "1" })
  })

  test("handles commands as if the stream had never existed", async () => {
    await dropped()
    expect(await endVisit(cx(), "1")).toMatchObject({ version: 0 })
  })
})

describe("a pruned log", () => {
  const live = async (at = cx) => {
    for (let n = 0; n < 40; n++) {
      await beginVisit(at(), `${n}`, { name: `guest ${n}`, chair: `${n}` })
      if (n % 2) await endVisit(at(), `${n}`)
      await writeEntry(at(), `e${n}`, `guest ${n}`)
      if (n % 7 === 0) await openAccount(at(), `${n}`, { name: `host ${n}` })
      world.clock.advance(hour)
    }
    world.clock.advance(hour)
    const now = world.clock.now()
    await at().store.prune({ now, auditedBefore: now - day, position: 999, stopped: () => false })
    return visitRows(at())
  }

  test("produces the existing rows when replayed", async () => {
    const before = await live()
    expect([before[0]?.length, before[1]?.length]).toEqual([20, 23])
    world = await world.reopen([accounts, visits].map((each) => ({ ...each, hash: "anew" })))
    expect(visitRows(cx())).toEqual(before)
  })

  test("produces the existing states when folded again", async () => {
    const { file, remove } = temporaryFile()
    let store = openFile(file, modules)
    const states = () => store.database.query("SELECT * FROM state").all()
    await live(() => ({ ...cx(), store }))
    const before = states()
    await store.close()
    const aggregates = modules.aggregates.map((kind) => ({ ...kind, revision: 2 }))
    const told: unknown[] = []
    store = openFile(file, {
      ...modules,
      aggregates,
      statesRebuilt: (description) => told.push(description),
    })
    expect(told).toHaveLength(1)
    expect(states()).toEqual(before)
    await store.close()
    remove()
  })

  test("continues after a restart, and has the number of deleted events", async () => {
    await live()
    const head = world.store.log.durable()
    const left = "SELECT count(*) + (SELECT value FROM meta WHERE key = 'pruned') AS n FROM event"
    expect(world.store.database.query(left).all()).toEqual([{ n: head }])
    world = await world.reopen([accounts, visits])
    expect((await beginVisit(cx(), "new", { name: "new" })).position).toBe(head + 1)
  })

  test.each([
    ["further than the first time", [2 * hour, 3 * hour]],
    ["less far", [9 * hour, 3 * hour]],
  ])(
    "counts what came since a clock was set right, also if it is ahead again, %s, also after a \
restart",
    async (_, leads) => {
      const minutes = 60_000
      const span = () => {
        const issued = world.clock.now()
        return { issued, expires: issued + 5 * minutes }
      }
      const lead = async (ms: number) => {
        await beginVisit(cx(), `${ms}`, { name: `guest ${ms}` })
        await prolongVisit(cx(), `${ms}`, world.clock.now() + ms - hour)
        await openOtherAccount()
        world.clock.advance(ms)
        expect(await pruneStore()).toMatchObject({ streams: 1 })
        world.clock.advance(-ms)
      }
      const spans = [span()]
      for (const ms of leads) {
        await lead(ms)
        await pruneStore()
        world.clock.advance(10 * minutes)
        spans.push(span())
        const now = world.clock.now()
        world = await world.reopen([accounts, visits])
        world.clock.advance(now - world.clock.now())
        const forgotten = spans.map((each) => world.store.isForgotten(each, now))
        expect(forgotten).toEqual(spans.map((_, at) => at < spans.length - 1))
      }
    },
  )

  test("is kept while a view is rebuilt, which would otherwise be incomplete", async () => {
    const { file, remove } = temporaryFile()
    let store = openFile(file, modules)
    const at = () => ({ ...cx(), store })
    await beginVisit(at(), "1", { name: "ada" })
    await endVisit(at(), "1")
    await openAccount(at(), "1", { name: "ada" })
    world.clock.advance(day)
    await store.close()
    store = openFile(file, { ...modules, views: [accounts, { ...visits, hash: "anew" }] })
    const limits = { now: world.clock.now(), auditedBefore: 0, position: 9, stopped: () => false }
    const early = store.prune(limits)
    expect(store.rebuilding()).toEqual(["visit"])
    expect(await early).toMatchObject({ streams: 0 })
    await store.rebuilt()
    expect(visitRows(at())[0]).toHaveLength(1)
    expect(await store.prune(limits)).toMatchObject({ streams: 1 })
    expect(visitRows(at())[0]).toEqual([])
    await store.close()
    remove()
  })

  test("keeps an expired chair for an hour, and then frees it", async () => {
    await beginVisit(cx(), "1", { name: "ada", chair: "red" })
    world.clock.advance(day + hour - 1)
    expect(await pruneStore()).toMatchObject({ claims: 0 })
    world.clock.advance(-2 * hour)
    expect(await rejectionOf(beginVisit(cx(), "2", { name: "bob", chair: "red" }))).toBe(
      "already_exists visit.chair_taken",
    )
    world.clock.advance(2 * hour + 1)
    expect(await pruneStore()).toMatchObject({ claims: 1 })
    await beginVisit(cx(), "2", { name: "bob", chair: "red" })
  })

  test("releases its space, except for a reserve", async () => {
    const pages = () =>
      world.store.database.query<{ page_count: number }, []>("PRAGMA page_count").all()[0]
        ?.page_count ?? 0
    const long = "x".repeat(4000)
    for (let n = 0; n < 800; n++) await writeEntry(cx(), `e${n}`, `${n} ${long}`)
    await openOtherAccount()
    const full = pages()
    world.clock.advance(91 * day)
    const { streams, pages: freed } = await pruneStore()
    expect(streams).toBe(800)
    expect(full - pages()).toBe(freed)
    expect(pages()).toBeLessThan(full / 3)
  })
})

describe("invalid declarations are rejected immediately:", () => {
  test("a view of expiring streams without a rule for its rows", async () => {
    const { file, remove } = temporaryFile()
    const careless = view<VisitEvent>({
      name: "careless",
      tables: [],
      on: { "visit.begun": () => undefined },
    })
    expect(() => openFile(file, { ...visitModules, views: [careless] })).toThrow(
      /the view careless uses visit\.begun, but streams of visit expire/,
    )
    remove()
  })

  test("an expiry for permanent streams, and none for others", () => {
    type E = Event<"rock.found">
    const rock = { stream: "rock", initial: 0, evolve: { "rock.found": () => 0 } } as const
    for (const wrong of [{ expires: () => 0 }, { retention: "transient" }] as const) {
      expect(() => aggregate<E, number>({ ...rock, ...wrong })).toThrow(/only these, need expires/)
    }
  })

  test("a claim that would outlive its stream", async () => {
    const taken = { id: "x", message: "x" }
    const claims = [{ take: "chair", key: "k", taken }]
    const step = world.store.transact(cx(), (tx) =>
      tx.append(visit, "1", [{ type: "visit.ended", data: {}, claims }]),
    )
    await expect(step).rejects.toThrow(/visit is transient, so its claims require an expiry/)
  })
})
