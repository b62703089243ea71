import type { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { selfCheckId } from "../../src/kernel/self-check.ts"
import {
  type Reactor,
  type Reactors,
  retryFailedEvents,
  runReactors,
} from "../../src/store/index.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import { driveClock } from "../support/wait.ts"
import { account, eraseAccount, modules, openAccount, renameAccount } from "./account.ts"

let world: TestEnvironment
let running: Reactors | undefined
beforeEach(() => {
  world = openTestEnvironment(modules)
})
afterEach(async () => {
  await running?.stop()
  await world.close()
})

/** A reactor that records its calls and fails a number of times. */
function recordingReactor(name = "mail") {
  const calls: string[] = []
  const refusals = new Map<string, number>()
  const reactor: Reactor = {
    name,
    on: {
      "account.opened": async ({ id }, key) => {
        calls.push(`${id} ${key}`)
        const left = refusals.get(id) ?? 0
        refusals.set(id, left - 1)
        if (left > 0) throw new Error(`no post for ${id}`)
      },
    },
  }
  return { calls, refusals, reactor }
}

function startReactors(...reactors: readonly Reactor[]): Reactors {
  running = runReactors(world.store, world.clock, reactors)
  return running
}

/** Drains while the clock advances, so that retry delays end; too short for failed events. */
const drain = (reactors: Reactors): Promise<void> =>
  driveClock(reactors.drain(), () => world.clock.advance(100), { intervalMs: 5 })

test("events of a self-check are skipped by reactors and block none", async () => {
  const { calls, reactor } = recordingReactor()
  const reactors = startReactors(reactor)
  await openAccount(world.cx({ requestId: selfCheckId("7") }), "1", { name: "ada" })
  await openAccount(world.cx(), "2", { name: "bob" })
  await reactors.drain()
  expect(calls).toEqual(["2 mail/2"])
})

test("events reach a reactor in order, once each, with a unique key", async () => {
  const { calls, reactor } = recordingReactor()
  const reactors = startReactors(reactor)
  await openAccount(world.cx(), "1", { name: "ada" })
  await renameAccount(world.cx(), "1", "eve")
  await openAccount(world.cx(), "2", { name: "bob" })
  await reactors.drain()
  await reactors.drain()
  expect(calls).toEqual(["1 mail/1", "2 mail/3"])
})

test("polling finds new events without a notification", async () => {
  const { calls, reactor } = recordingReactor()
  startReactors(reactor)
  await openAccount(world.cx(), "1", { name: "ada" })
  for (let turn = 0; turn < 20; turn++) {
    world.clock.advance(250)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(calls).toEqual(["1 mail/1"])
})

test("a failure is retried with the same key, and later events wait", async () => {
  const { calls, refusals, reactor } = recordingReactor()
  refusals.set("1", 2)
  const reactors = startReactors(reactor)
  await openAccount(world.cx(), "1", { name: "ada" })
  await openAccount(world.cx(), "2", { name: "bob" })
  await drain(reactors)
  expect(calls).toEqual(["1 mail/1", "1 mail/1", "1 mail/1", "2 mail/2"])
  expect(reactors.failed()).toEqual([])
})

test("a persistent failure becomes a failed event, and the others continue", async () => {
  const { calls, refusals, reactor } = recordingReactor()
  const other = recordingReactor("audit")
  refusals.set("1", 7)
  const reactors = startReactors(reactor, other.reactor)
  await openAccount(world.cx(), "1", { name: "ada" })
  await openAccount(world.cx(), "2", { name: "bob" })
  await drain(reactors)
  expect(calls.filter((call) => call.startsWith("1"))).toHaveLength(5)
  expect(calls).toContain("2 mail/2")
  expect(other.calls).toEqual(["1 audit/1", "2 audit/2"])
  expect(reactors.failed()).toMatchObject([
    { reactor: "mail", position: 1, instance: "i1", failures: 1, error: "no post for 1" },
  ])
  expect(await world.store.log.read(0, 9)).toHaveLength(2)
})

describe("a failed event is retried automatically", () => {
  const second = 1000
  const minute = 60 * second

  /** Advances the clock and waits for the resulting work, until `isSo`. */
  async function until(isSo: () => boolean, stepMs: number, stepsMax = 10_000): Promise<number> {
    const from = world.clock.now()
    for (let step = 0; !isSo() && step < stepsMax; step++) {
      world.clock.advance(stepMs)
      for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    return world.clock.now() - from
  }

  async function failedOnce(refusals: number) {
    const { calls, refusals: left, reactor } = recordingReactor()
    left.set("1", refusals)
    const reactors = startReactors(reactor)
    await openAccount(world.cx(), "1", { name: "ada" })
    await until(() => reactors.failed().length > 0, 200)
    expect(calls).toHaveLength(5)
    return { calls, reactors }
  }

  test("until it succeeds: after five minutes, without a request", async () => {
    const { calls, reactors } = await failedOnce(8)
    const passed = await until(() => reactors.failed().length === 0, second)
    expect(calls).toHaveLength(9)
    expect(new Set(calls)).toEqual(new Set(["1 mail/1"]))
    // Half a minute, one, two, four; checked every ten seconds.
    expect(passed).toBeGreaterThan(7 * minute)
    expect(passed).toBeLessThan(9 * minute)
  })

  test("for half a day, at increasing intervals, and no longer", async () => {
    const { calls, reactors } = await failedOnce(999)
    const passed = await until(() => reactors.failed()[0]?.failures === 30, 30 * second)
    expect(passed).toBeGreaterThan(11 * 60 * minute)
    expect(passed).toBeLessThan(13 * 60 * minute)
    expect(calls).toHaveLength(5 + 29)
    await until(() => false, 60 * minute, 48)
    expect(calls).toHaveLength(5 + 29)
  })

  test("immediately on request, even after the retries have ended", async () => {
    const { calls, reactors } = await failedOnce(5 + 30)
    await until(() => reactors.failed()[0]?.failures === 30, 30 * second)
    expect(await retryFailedEvents(world.store, { instance: "another" })).toBe(0)
    expect(await retryFailedEvents(world.store, { reactor: "mail", position: 2 })).toBe(0)
    for (const left of [31, 0]) {
      const before = calls.length
      expect(await retryFailedEvents(world.store, { instance: "i1" })).toBe(1)
      const passed = await until(() => (reactors.failed()[0]?.failures ?? 0) === left, 1, 100)
      expect(calls).toHaveLength(before + 1)
      expect(passed).toBeLessThan(100)
    }
  })

  test("also by the next process", async () => {
    const { reactors } = await failedOnce(999)
    await reactors.stop()
    const after = recordingReactor()
    const next = startReactors(after.reactor)
    await until(() => next.failed().length === 0, second)
    expect(after.calls).toEqual(["1 mail/1"])
  })

  test("while others are processed, and not once its stream is deleted", async () => {
    const { calls, reactors } = await failedOnce(999)
    await openAccount(world.cx(), "2", { name: "bob" })
    await until(() => calls.includes("2 mail/2"), 200)
    world.store.database.run("DELETE FROM event WHERE position = 1")
    await until(() => reactors.failed().length === 0, second)
    expect(calls.filter((call) => call.startsWith("1"))).toHaveLength(5)
  })
})

test("a failed event can be retried and removed; the stream is unchanged", async () => {
  const { refusals, reactor } = recordingReactor()
  refusals.set("1", 6)
  refusals.set("2", 99)
  const reactors = startReactors(reactor)
  await openAccount(world.cx(), "1", { name: "ada" })
  await openAccount(world.cx(), "2", { name: "bob" })
  await drain(reactors)
  expect(await reactors.retry("mail", 1)).toBe(false)
  expect(reactors.failed().map(({ position, failures }) => [position, failures])).toEqual([
    [1, 2],
    [2, 1],
  ])
  expect(await reactors.retry("mail", 1)).toBe(true)
  await reactors.remove("mail", 2)
  expect(reactors.failed()).toEqual([])
  expect(await reactors.retry("mail", 77)).toBe(false)
  expect(await world.store.log.read(0, 9)).toHaveLength(2)
})

test("after a restart a reactor continues where it stopped", async () => {
  const first = recordingReactor()
  await openAccount(world.cx(), "1", { name: "ada" })
  const before = startReactors(first.reactor)
  await before.drain()
  await before.stop()
  await openAccount(world.cx(), "2", { name: "bob" })
  const second = recordingReactor()
  await startReactors(second.reactor).drain()
  expect([first.calls, second.calls]).toEqual([["1 mail/1"], ["2 mail/2"]])
})

test("a new reactor receives no earlier events", async () => {
  const { calls, reactor } = recordingReactor()
  await openAccount(world.cx(), "1", { name: "ada" })
  const before = startReactors({ ...reactor, from: "now" })
  await openAccount(world.cx(), "2", { name: "bob" })
  await before.drain()
  await before.stop()
  await openAccount(world.cx(), "3", { name: "eve" })
  await startReactors({ ...reactor, from: "now" }).drain()
  expect(calls).toEqual(["2 mail/2", "3 mail/3"])
})

test("many events that concern no reactor cost one write", async () => {
  const { reactor } = recordingReactor()
  await openAccount(world.cx(), "1", { name: "ada" })
  for (let n = 0; n < 50; n++) await renameAccount(world.cx(), "1", `name${n}`)
  const { database } = world.store
  database.run("CREATE TEMP TABLE note (at INTEGER)")
  database.run(`CREATE TEMP TRIGGER noting AFTER UPDATE ON main.reactor
    BEGIN INSERT INTO note VALUES (new.position); END`)
  await startReactors(reactor).drain()
  const notes = database.query<{ at: number }, []>("SELECT at FROM note").all()
  expect(notes.map(({ at }) => at)).toEqual([51])
})

test("reactors store their position even while the WAL is truncated after an erasure", async () => {
  const { calls, reactor } = recordingReactor()
  const stuck: unknown[] = []
  running = runReactors(world.store, world.clock, [reactor], {
    onBlocked: (_, cause) => stuck.push(cause),
  })
  let count = 0
  for (let round = 0; round < 10; round++) {
    await openAccount(world.cx(), `${++count}`, { name: `name${count}` })
    await eraseAccount(world.cx(), `${count}`)
    let isCut = false
    const cutting = world.store.scrub().then(() => {
      isCut = true
    })
    while (!isCut) {
      await openAccount(world.cx(), `${++count}`, { name: `name${count}` })
      await running.drain()
    }
    await cutting
  }
  await running.drain()
  expect([stuck, calls.length]).toEqual([[], count])
})

test("a reactor that is stopped before its next attempt is not called again", async () => {
  const { calls, refusals, reactor } = recordingReactor()
  refusals.set("1", 99)
  const reactors = startReactors(reactor)
  await openAccount(world.cx(), "1", { name: "ada" })
  const draining = reactors.drain()
  while (calls.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await reactors.stop()
  await draining
  expect(calls).toHaveLength(1)
  expect(reactors.failed()).toEqual([])
})

test("an event without further retries is reported once, and affects no others", async () => {
  const { calls, refusals, reactor } = recordingReactor()
  refusals.set("1", 99)
  const told: unknown[] = []
  running = runReactors(world.store, world.clock, [reactor], {
    onPostponed: (name, { type, position }, error) => told.push([name, type, position, error]),
  })
  await openAccount(world.cx(), "1", { name: "ada" })
  await openAccount(world.cx(), "2", { name: "bob" })
  await drain(running)
  expect(told).toEqual([["mail", "account.opened", 1, "no post for 1"]])
  expect(calls).toContain("2 mail/2")
})

test("an unreadable event stops the reactor and is named", async () => {
  const stuck: unknown[] = []
  await openAccount(world.cx(), "1", { name: "ada" })
  world.store.database.run("UPDATE event SET data = '{}'")
  running = runReactors(world.store, world.clock, [recordingReactor().reactor], {
    onBlocked: (...description) => stuck.push(description),
  })
  world.clock.advance(1000)
  await new Promise((resolve) => setImmediate(resolve))
  expect(stuck).toMatchObject([["mail", { id: "store.event_damaged" }]])
})

describe("a disk that is temporarily full or locked", () => {
  /** Runs while the disk fails, and returns the reports. */
  async function through(reactor: Reactor, refuse: () => () => void) {
    const heard: string[] = []
    running = runReactors(world.store, world.clock, [reactor], {
      onBlocked: (name, cause) => heard.push(`${name}: ${world.store.faultOf(cause)?.id}`),
      onUnblocked: (name) => heard.push(`${name} goes on`),
      onPostponed: (name) => heard.push(`${name} postponed`),
    })
    const goOn = refuse()
    const turns = async () => {
      for (let turn = 0; turn < 60; turn++) {
        world.clock.advance(2500)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    await turns()
    const meanwhile = new Set(heard)
    goOn()
    await turns()
    await running.drain()
    return { meanwhile: [...meanwhile], after: heard.slice(-1), failed: running.failed() }
  }
  const full = (database: Database) => () => {
    const pages = database.query<{ page_count: number }, []>("PRAGMA page_count").get()?.page_count
    database.run(`PRAGMA max_page_count = ${pages}`)
    return () => database.run("PRAGMA max_page_count = 1000000")
  }

  test("delays the stored position of a reactor", async () => {
    const { calls, reactor } = recordingReactor("mail".padEnd(5000, "!"))
    await openAccount(world.cx(), "1", { name: "ada" })
    const { meanwhile, after } = await through(reactor, full(world.store.database))
    expect(meanwhile).toEqual([`${reactor.name}: store.disk_full`])
    expect(after).toEqual([`${reactor.name} goes on`])
    expect([calls.length, running?.passedPosition()]).toEqual([1, 1])
  })

  test("does not count as an attempt of a reactor that writes", async () => {
    const email = "x".repeat(100_000)
    const reactor: Reactor = {
      name: "copy",
      on: {
        "account.opened": async ({ id }) => {
          if (id === "1") await openAccount(world.cx(), "2", { name: "copy", email })
        },
      },
    }
    await openAccount(world.cx(), "1", { name: "ada" })
    const outcome = await through(reactor, full(world.store.database))
    expect(outcome.meanwhile).toEqual(["copy: store.disk_full"])
    expect([outcome.after, outcome.failed]).toEqual([["copy goes on"], []])
    expect(world.store.receipt(world.cx(), account, "2")?.version).toBe(1)
  })

  test("damage is retried, too, and processing continues after the repair", async () => {
    const { calls, reactor } = recordingReactor()
    const { database } = world.store
    await openAccount(world.cx(), "1", { name: "ada" })
    database.run("UPDATE event SET owner = 'x'")
    const outcome = await through(reactor, () => () => database.run("UPDATE event SET owner = ''"))
    expect(outcome.meanwhile).toEqual(["mail: store.event_damaged"])
    expect([outcome.after, calls]).toEqual([["mail goes on"], ["1 mail/1"]])
  })
})

describe("a reactor with parallel events", () => {
  /** Its calls end on request only. */
  function slow(parallel: number) {
    const open = new Map<string, () => void>()
    const calls: string[] = []
    const reactor: Reactor = {
      name: "calls",
      parallel,
      on: {
        "account.opened": ({ id }) => {
          calls.push(id)
          return new Promise((resolve) => open.set(id, resolve))
        },
      },
    }
    return { calls, open, reactor }
  }
  const turns = async () => {
    for (let turn = 0; turn < 20; turn++) {
      world.clock.advance(250)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const openAll = async (...ids: readonly string[]) => {
    for (const id of ids) await openAccount(world.cx(), id, { name: `name${id}` })
  }

  test("is not blocked by one of them, and processes no more than its limit", async () => {
    const { calls, open, reactor } = slow(2)
    startReactors(reactor)
    await openAll("1", "2", "3")
    await turns()
    expect(calls).toEqual(["1", "2"])
    open.get("2")?.()
    await turns()
    expect(calls).toEqual(["1", "2", "3"])
    open.get("3")?.()
    await openAll("4")
    await turns()
    expect(calls).toEqual(["1", "2", "3", "4"])
  })

  test("repeats unfinished events after a stop, and later ones", async () => {
    const first = slow(3)
    const reactors = startReactors(first.reactor)
    await openAll("1", "2", "3")
    await turns()
    first.open.get("1")?.()
    first.open.get("3")?.()
    await turns()
    expect(reactors.passedPosition()).toBe(1)
    await reactors.stop()
    const second = slow(3)
    startReactors(second.reactor)
    await turns()
    expect(second.calls).toEqual(["2", "3"])
  })

  test("advances when all are done, in any order", async () => {
    const { open, reactor } = slow(3)
    const reactors = startReactors(reactor)
    await openAll("1", "2", "3")
    await turns()
    for (const id of ["3", "2", "1"]) open.get(id)?.()
    await turns()
    expect(reactors.passedPosition()).toBe(3)
  })
})
