import { afterEach, beforeEach, expect, test } from "vitest"
import { Fault } from "../../src/kernel/fault.ts"
import { type Reactor, type Reactors, runReactors } from "../../src/store/index.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import { loopTurns } from "../support/wait.ts"
import { modules } from "./account.ts"

let world: TestEnvironment
let running: Reactors | undefined
beforeEach(() => {
  world = openTestEnvironment(modules)
})
afterEach(async () => {
  await running?.stop()
  await world.close()
})

/** Due work items, each of which runs until it is released. */
function createSlowReactor(...ids: readonly string[]) {
  const open = new Set(ids)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const reactor: Reactor = {
    name: "later",
    on: {},
    due: {
      find: (_, now) => [...open].map((id) => ({ instance: "i1", id })).filter(() => now >= at),
      run: ({ id }) => {
        begun.push(id)
        if (id === "broken") return Promise.reject(new Error("unexpected failure"))
        return new Promise<void>((resolve) => {
          ends.set(id, () => {
            open.delete(id)
            resolve()
          })
        })
      },
    },
  }
  const at = world.clock.now() + 5000
  return { reactor, begun, end: (id: string) => ends.get(id)?.() }
}

async function passTime(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    world.clock.advance(500)
    await loopTurns()
  }
}

test("runs once it is due, and a slow one blocks no other", async () => {
  const { reactor, begun, end } = createSlowReactor("slow", "quick")
  running = runReactors(world.store, world.clock, [reactor])
  await passTime(4000)
  expect(begun).toEqual([])
  await passTime(2000)
  expect(begun).toEqual(["slow", "quick"])
  end("quick")
  await passTime(5000)
  expect(begun).toEqual(["slow", "quick"])
})

test("is reported and retried a minute later after an unexpected failure", async () => {
  const { reactor, begun } = createSlowReactor("broken")
  const told: string[] = []
  running = runReactors(world.store, world.clock, [reactor], {
    onDueFailed: (name, { id }, error) => told.push(`${name} ${id}: ${error}`),
  })
  await passTime(30_000)
  expect([begun.length, told]).toEqual([1, ["later broken: unexpected failure"]])
  await passTime(60_000)
  expect(begun).toHaveLength(2)
})

test("waits while another node is the worker", async () => {
  const { reactor, begun } = createSlowReactor("one")
  running = runReactors(world.store, world.clock, [reactor], { isLeader: () => false })
  await passTime(20_000)
  expect(begun).toEqual([])
})

/** Runs as a server does, which logs errors and never throws. */
function runAsServer(reactor: Reactor, leads = () => true) {
  const heard: string[] = []
  const stuck = new Set<string>()
  running = runReactors(world.store, world.clock, [reactor], {
    onBlocked: (name) => stuck.add(name),
    onUnblocked: (name) => stuck.delete(name),
    onDueFailed: (_, { id }, error) => heard.push(`${id}: ${error}`),
    isLeader: leads,
  })
  return { heard, isReady: () => stuck.size === 0 }
}

test("a permanent failure is retried a minute later on a ready server", async () => {
  const { reactor, begun } = createSlowReactor("broken")
  const { heard, isReady } = runAsServer(reactor)
  await passTime(30_000)
  expect([begun, heard]).toEqual([["broken"], ["broken: unexpected failure"]])
  expect(isReady()).toBe(true)
  await passTime(60_000)
  expect(begun).toEqual(["broken", "broken"])
})

test("the end of other work does not shorten the pause after a failure", async () => {
  const { reactor, begun, end } = createSlowReactor("broken", "slow", "slower")
  runAsServer(reactor)
  await passTime(10_000)
  end("slow")
  await passTime(5_000)
  end("slower")
  await passTime(5_000)
  expect(begun).toEqual(["broken", "slow", "slower"])
})

/** One due work item that the database rejects. */
function rejectedItem() {
  let tries = 0
  const reactor: Reactor = {
    name: "later",
    on: {},
    due: {
      find: () => [{ instance: "i1", id: "one" }],
      run: async () => {
        tries++
        throw new Fault("unavailable", "store.database_unreachable", "the database is away")
      },
    },
  }
  return { reactor, tries: () => tries }
}

test("a database failure is retried immediately, and makes the server unready", async () => {
  const { reactor, tries } = rejectedItem()
  const { heard, isReady } = runAsServer(reactor)
  await passTime(20_000)
  expect(tries()).toBeGreaterThan(5)
  expect([heard, isReady()]).toEqual([[], false])
})

test("a server that loses the lead stops retrying and is ready again", async () => {
  const { reactor, tries } = rejectedItem()
  let isLeading = true
  const { isReady } = runAsServer(reactor, () => isLeading)
  await passTime(20_000)
  isLeading = false
  await passTime(2_500)
  const before = tries()
  await passTime(20_000)
  expect([tries(), isReady()]).toEqual([before, true])
  isLeading = true
  await passTime(20_000)
  expect(tries()).toBeGreaterThan(before)
})

test("an item that is still due after it ran waits for the next check", async () => {
  let count = 0
  const reactor: Reactor = {
    name: "later",
    on: {},
    due: {
      find: () => [{ instance: "i1", id: "one" }],
      run: async () => {
        count++
        // Ends a loop that would leave no time for this test to fail.
        if (count > 100) throw new Error("done too often")
      },
    },
  }
  runAsServer(reactor)
  await passTime(10_000)
  expect(count).toBeGreaterThan(3)
  expect(count).toBeLessThan(12)
})
