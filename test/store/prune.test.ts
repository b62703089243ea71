// What has expired goes whole, and nothing else does.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { aggregate, type Event, view } from "../../src/store/index.ts"
import { openWorld, type World } from "../support/world.ts"
import { account, accounts, openAccount, openFile, refusalOf, temporaryFile } from "./account.ts"
import {
  begin,
  day,
  end,
  hour,
  prolong,
  shown,
  type VisitEvent,
  visit,
  visitRooms,
  visits,
  write,
} from "./visit.ts"

let world: World
const modules = {
  aggregates: [account, ...visitRooms.aggregates],
  views: [accounts, ...visitRooms.views],
}
beforeEach(() => {
  world = openWorld(modules)
})
afterEach(() => world.close())

const cx = (instance = "i1") => world.cx({ instance })
/** Something new that stays: the newest event of a log is never dropped. */
const somethingElse = () => openAccount(cx(), world.cx().ids.next(), { name: cx().ids.next() })

const prune = (limits: { position?: number; auditDays?: number; stopped?: () => boolean } = {}) => {
  const now = world.clock.now()
  return world.store.prune({
    now,
    auditedBefore: now - (limits.auditDays ?? 90) * day,
    position: limits.position ?? Number.MAX_SAFE_INTEGER,
    stopped: limits.stopped ?? (() => false),
  })
}

const ids = (table: "event" | "state" | "claim") =>
  world.store.database
    .query<{ id: string }, []>(`SELECT DISTINCT id FROM ${table} WHERE stream IN
      ('visit', (SELECT code FROM name WHERE name = 'visit')) ORDER BY id`)
    .all()
    .map(({ id }) => id)

describe("a stream that has expired", () => {
  test("goes with its events, its state, its rows and its claims", async () => {
    for (const id of ["1", "2"]) await begin(cx(), id, { name: `guest ${id}` })
    await end(cx(), "1")
    await somethingElse()
    world.clock.advance(day + 2 * hour)
    expect(await prune()).toMatchObject({ streams: 1, events: 2, claims: 2 })
    expect([ids("event"), ids("state"), ids("claim")]).toEqual([["2"], ["2"], []])
    expect(shown(cx())).toEqual([
      [{ instance: "i1", id: "2", name: "guest 2", owner: "", version: 1 }],
      [],
    ])
    expect(world.store.state(cx(), visit, "1").status).toBe("absent")
    expect(world.store.receipt(cx(), visit, "1")).toBeUndefined()
  })

  test("is kept for another hour, so that a clock that was set back revives nothing", async () => {
    await begin(cx(), "1", { name: "ada" })
    await end(cx(), "1")
    await somethingElse()
    world.clock.advance(2 * hour - 1)
    expect(await prune()).toMatchObject({ streams: 0 })
    world.clock.advance(1)
    expect(await prune()).toMatchObject({ streams: 1 })
  })

  test("goes in its own instance only, and only that kind of stream", async () => {
    for (const instance of ["i1", "i2"]) await begin(cx(instance), "1", { name: "ada" })
    await openAccount(cx(), "1", { name: "ada" })
    await end(cx(), "1")
    await somethingElse()
    world.clock.advance(day)
    await prune()
    expect(shown(cx())[0]).toEqual([])
    expect(shown(cx("i2"))[0]).toHaveLength(1)
    expect(world.store.state(cx(), account, "1").name).toBe("ada")
  })

  test("stays when it was prolonged, and goes when that is over", async () => {
    await begin(cx(), "1", { name: "ada" })
    await prolong(cx(), "1", world.clock.now() + hour)
    await prolong(cx(), "1", world.clock.now() + 9 * day)
    await somethingElse()
    world.clock.advance(8 * day)
    expect(await prune()).toMatchObject({ streams: 0 })
    world.clock.advance(2 * day)
    expect(await prune()).toMatchObject({ streams: 1, events: 3 })
  })

  test("stays where it holds the newest event, from which the next position follows", async () => {
    await begin(cx(), "1", { name: "ada" })
    await end(cx(), "1")
    world.clock.advance(day)
    expect(await prune()).toMatchObject({ streams: 0 })
    await somethingElse()
    expect(await prune()).toMatchObject({ streams: 1 })
  })

  test("waits for the slowest reactor, and so does whatever expired after it", async () => {
    for (const id of ["1", "2", "3"]) {
      await begin(cx(), id, { name: id })
      await end(cx(), id)
      world.clock.advance(1)
    }
    await somethingElse()
    world.clock.advance(day)
    expect(await prune({ position: 3 })).toMatchObject({ streams: 1 })
    expect(ids("event")).toEqual(["2", "3"])
    expect(await prune({ position: 5 })).toMatchObject({ streams: 1 })
    expect(await prune({ position: 5 })).toMatchObject({ streams: 0 })
    expect(await prune()).toMatchObject({ streams: 1 })
  })

  test("goes from behind some that expired before it and must wait", async () => {
    for (let n = 0; n < 30; n++) await begin(cx(), `early${n}`, { name: `e${n}` })
    for (let n = 0; n < 30; n++) {
      await begin(cx(), `late${n}`, { name: `l${n}` })
      await end(cx(), `late${n}`)
    }
    for (let n = 0; n < 30; n++) await prolong(cx(), `early${n}`, world.clock.now())
    await somethingElse()
    world.clock.advance(day)
    const position = world.store.log.durable() - 11
    expect(await prune({ position })).toMatchObject({ streams: 50 })
    expect(await prune()).toMatchObject({ streams: 10 })
  })

  test("is dropped in slices, between which others have their turn", async () => {
    for (let n = 0; n < 200; n++) await begin(cx(), `${n}`, { name: `${n}` })
    for (let n = 0; n < 200; n++) await end(cx(), `${n}`)
    await somethingElse()
    world.clock.advance(day)
    const pruning = prune()
    const between: number[] = []
    let isOver = false
    void pruning.then(() => {
      isOver = true
    })
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve))
      between.push(ids("event").length)
    }
    expect(await pruning).toMatchObject({ streams: 200, events: 400 })
    expect(new Set(between).size).toBeGreaterThan(3)
  })

  test("stays when the server stops first", async () => {
    await begin(cx(), "1", { name: "ada" })
    await end(cx(), "1")
    await somethingElse()
    world.clock.advance(day)
    expect(await prune({ stopped: () => true })).toMatchObject({ streams: 0, claims: 0 })
  })
})

describe("an audit stream", () => {
  test("goes when it is older than the time that is configured", async () => {
    await write(cx(), "e1", "ada")
    world.clock.advance(10 * day)
    await write(cx(), "e2", "bob")
    await somethingElse()
    world.clock.advance(20 * day + hour)
    expect(await prune({ auditDays: 90 })).toMatchObject({ streams: 0 })
    expect(await prune({ auditDays: 30 })).toMatchObject({ streams: 1, events: 1 })
    expect(shown(cx())[1]).toMatchObject([{ id: "e2" }])
  })
})

describe("an audit stream of an instance that keeps them less long", () => {
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

  test("goes sooner, and nobody else's with it", async () => {
    for (let each = 0; each < 30; each++) {
      await write(cx("i1"), `a${each}`, "ada")
      await write(cx("i2"), `b${each}`, "bob")
    }
    world.clock.advance(5 * day)
    await write(cx("i1"), "late", "ada")
    await somethingElse()
    world.clock.advance(5 * day + 2 * hour)
    expect(await sooner(["i1", 7], ["i3", 1])).toMatchObject({ streams: 30, events: 30 })
    expect(shown(cx("i1"))[1]).toMatchObject([{ id: "late" }])
    expect(shown(cx("i2"))[1]).toHaveLength(30)
  })

  test("is looked for once an hour, and stays where the whole process keeps it", async () => {
    await write(cx("i1"), "e1", "ada")
    await somethingElse()
    expect(await sooner(["i1", 1])).toMatchObject({ streams: 0 })
    world.clock.advance(2 * day)
    expect(await sooner(["i1", 365])).toMatchObject({ streams: 0 })
    world.clock.advance(hour - 60_000)
    expect(await sooner(["i1", 1])).toMatchObject({ streams: 0 })
    world.clock.advance(60_000)
    expect(await sooner(["i1", 1])).toMatchObject({ streams: 1 })
    await write(cx("i1"), "e2", "ada")
    await somethingElse()
    world.clock.advance(91 * day)
    expect(await sooner(["i1", 365])).toMatchObject({ streams: 1 })
  })
})

describe("an id whose stream was dropped", () => {
  const dropped = async () => {
    await begin(cx(), "1", { name: "ada" })
    await end(cx(), "1")
    await somethingElse()
    world.clock.advance(2 * day)
    await prune()
  }

  test("begins anew: from the initial state, at version 1, at a position never used", async () => {
    await dropped()
    const before = world.store.log.durable()
    world.clock.advance(5)
    const { version, position, created } = await begin(cx(), "1", { name: "ada again" })
    expect([version, created]).toEqual([1, world.clock.now()])
    expect(position).toBe(before + 1)
    expect(world.store.state(cx(), visit, "1")).toEqual({ status: "here", beginnings: 1 })
    expect(shown(cx())[0]).toMatchObject([{ name: "ada again", version: 1 }])
  })

  test("conflicts with a step that was decided on the stream that was there", async () => {
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

  test("answers a command about what is gone as if it had never been", async () => {
    await dropped()
    expect(await end(cx(), "1")).toMatchObject({ version: 0 })
  })
})

describe("a log that was pruned", () => {
  const live = async (at = cx) => {
    for (let n = 0; n < 40; n++) {
      await begin(at(), `${n}`, { name: `guest ${n}`, chair: `${n}` })
      if (n % 2) await end(at(), `${n}`)
      await write(at(), `e${n}`, `guest ${n}`)
      if (n % 7 === 0) await openAccount(at(), `${n}`, { name: `host ${n}` })
      world.clock.advance(hour)
    }
    world.clock.advance(hour)
    const now = world.clock.now()
    await at().store.prune({ now, auditedBefore: now - day, position: 999, stopped: () => false })
    return shown(at())
  }

  test("makes, replayed, the rows that are there", async () => {
    const before = await live()
    expect([before[0]?.length, before[1]?.length]).toEqual([20, 23])
    world = await world.reopen([accounts, visits].map((each) => ({ ...each, hash: "anew" })))
    expect(shown(cx())).toEqual(before)
  })

  test("makes, folded anew, the states that are there", async () => {
    const { file, remove } = temporaryFile()
    let store = openFile(file, modules)
    const states = () => store.database.query("SELECT * FROM state").all()
    await live(() => ({ ...cx(), store }))
    const before = states()
    await store.close()
    const aggregates = modules.aggregates.map((kind) => ({ ...kind, revision: 2 }))
    const told: unknown[] = []
    store = openFile(file, { ...modules, aggregates, statesRebuilt: (what) => told.push(what) })
    expect(told).toHaveLength(1)
    expect(states()).toEqual(before)
    await store.close()
    remove()
  })

  test("goes on after a restart where it was, and knows how much is gone", async () => {
    await live()
    const head = world.store.log.durable()
    const left = "SELECT count(*) + (SELECT value FROM meta WHERE key = 'pruned') AS n FROM event"
    expect(world.store.database.query(left).all()).toEqual([{ n: head }])
    world = await world.reopen([accounts, visits])
    expect((await begin(cx(), "new", { name: "new" })).position).toBe(head + 1)
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
        await begin(cx(), `${ms}`, { name: `guest ${ms}` })
        await prolong(cx(), `${ms}`, world.clock.now() + ms - hour)
        await somethingElse()
        world.clock.advance(ms)
        expect(await prune()).toMatchObject({ streams: 1 })
        world.clock.advance(-ms)
      }
      const spans = [span()]
      for (const ms of leads) {
        await lead(ms)
        await prune()
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

  test("is left alone while a view is made anew, which would show what has gone", async () => {
    const { file, remove } = temporaryFile()
    let store = openFile(file, modules)
    const at = () => ({ ...cx(), store })
    await begin(at(), "1", { name: "ada" })
    await end(at(), "1")
    await openAccount(at(), "1", { name: "ada" })
    world.clock.advance(day)
    await store.close()
    store = openFile(file, { ...modules, views: [accounts, { ...visits, hash: "anew" }] })
    const limits = { now: world.clock.now(), auditedBefore: 0, position: 9, stopped: () => false }
    const early = store.prune(limits)
    expect(store.rebuilding()).toEqual(["visit"])
    expect(await early).toMatchObject({ streams: 0 })
    await store.rebuilt()
    expect(shown(at())[0]).toHaveLength(1)
    expect(await store.prune(limits)).toMatchObject({ streams: 1 })
    expect(shown(at())[0]).toEqual([])
    await store.close()
    remove()
  })

  test("keeps an expired chair for an hour, and then it is anybody's", async () => {
    await begin(cx(), "1", { name: "ada", chair: "red" })
    world.clock.advance(day + hour - 1)
    expect(await prune()).toMatchObject({ claims: 0 })
    world.clock.advance(-2 * hour)
    expect(await refusalOf(begin(cx(), "2", { name: "bob", chair: "red" }))).toBe(
      "already_exists visit.chair_taken",
    )
    world.clock.advance(2 * hour + 1)
    expect(await prune()).toMatchObject({ claims: 1 })
    await begin(cx(), "2", { name: "bob", chair: "red" })
  })

  test("gives its space back, but for a reserve", async () => {
    const pages = () =>
      world.store.database.query<{ page_count: number }, []>("PRAGMA page_count").all()[0]
        ?.page_count ?? 0
    const long = "x".repeat(4000)
    for (let n = 0; n < 800; n++) await write(cx(), `e${n}`, `${n} ${long}`)
    await somethingElse()
    const full = pages()
    world.clock.advance(91 * day)
    const { streams, pages: freed } = await prune()
    expect(streams).toBe(800)
    expect(full - pages()).toBe(freed)
    expect(pages()).toBeLessThan(full / 3)
  })
})

describe("a mistake in what is declared is told at once:", () => {
  test("a view that is made of streams that go, and doesn't say what goes with them", async () => {
    const { file, remove } = temporaryFile()
    const careless = view<VisitEvent>({
      name: "careless",
      tables: [],
      on: { "visit.begun": () => undefined },
    })
    expect(() => openFile(file, { ...visitRooms, views: [careless] })).toThrow(
      /careless is made of visit\.begun, but streams of visit are dropped one day/,
    )
    remove()
  })

  test("a time for streams that are kept, and none for others", () => {
    type E = Event<"rock.found">
    const rock = { stream: "rock", initial: 0, evolve: { "rock.found": () => 0 } } as const
    for (const wrong of [{ expires: () => 0 }, { retention: "transient" }] as const) {
      expect(() => aggregate<E, number>({ ...rock, ...wrong })).toThrow(/only that, says expires/)
    }
  })

  test("a claim that would outlive its stream", async () => {
    const taken = { id: "x", message: "x" }
    const claims = [{ take: "chair", key: "k", taken }]
    const step = world.store.transact(cx(), (tx) =>
      tx.append(visit, "1", [{ type: "visit.ended", data: {}, claims }]),
    )
    await expect(step).rejects.toThrow(/claims must say when they expire/)
  })
})
