import { afterEach, beforeEach, expect, test } from "vitest"
import { Fault } from "../../src/kernel/fault.ts"
import { type Reactor, type Reactors, runReactors } from "../../src/store/index.ts"
import { loopTurns } from "../support/wait.ts"
import { openWorld, type World } from "../support/world.ts"
import { modules } from "./account.ts"

let world: World
let running: Reactors | undefined
beforeEach(() => {
  world = openWorld(modules)
})
afterEach(async () => {
  await running?.stop()
  await world.close()
})

/** Things that are due, each of which takes until it is let go. */
function putOff(...ids: readonly string[]) {
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
        if (id === "broken") return Promise.reject(new Error("nobody expected it"))
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

async function passed(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    world.clock.advance(500)
    await loopTurns()
  }
}

test("is done once it is due, and one that is slow keeps no other waiting", async () => {
  const { reactor, begun, end } = putOff("slow", "quick")
  running = runReactors(world.store, world.clock, [reactor])
  await passed(4000)
  expect(begun).toEqual([])
  await passed(2000)
  expect(begun).toEqual(["slow", "quick"])
  end("quick")
  await passed(5000)
  expect(begun).toEqual(["slow", "quick"])
})

test("is told of and tried again a minute later where it fails unexpectedly", async () => {
  const { reactor, begun } = putOff("broken")
  const told: string[] = []
  running = runReactors(world.store, world.clock, [reactor], {
    dueFailed: (name, { id }, error) => told.push(`${name} ${id}: ${error}`),
  })
  await passed(30_000)
  expect([begun.length, told]).toEqual([1, ["later broken: nobody expected it"]])
  await passed(60_000)
  expect(begun).toHaveLength(2)
})

test("waits while another node works", async () => {
  const { reactor, begun } = putOff("one")
  running = runReactors(world.store, world.clock, [reactor], { leads: () => false })
  await passed(20_000)
  expect(begun).toEqual([])
})

/** Runs it as a server does, which tells of what keeps it and never throws. */
function runAsServer(reactor: Reactor, leads = () => true) {
  const heard: string[] = []
  const stuck = new Set<string>()
  running = runReactors(world.store, world.clock, [reactor], {
    stuck: (name) => stuck.add(name),
    freed: (name) => stuck.delete(name),
    dueFailed: (_, { id }, error) => heard.push(`${id}: ${error}`),
    leads,
  })
  return { heard, isReady: () => stuck.size === 0 }
}

test("a failure that will not pass is tried a minute later on a ready server", async () => {
  const { reactor, begun } = putOff("broken")
  const { heard, isReady } = runAsServer(reactor)
  await passed(30_000)
  expect([begun, heard]).toEqual([["broken"], ["broken: nobody expected it"]])
  expect(isReady()).toBe(true)
  await passed(60_000)
  expect(begun).toEqual(["broken", "broken"])
})

test("the end of other work does not shorten the pause after a failure", async () => {
  const { reactor, begun, end } = putOff("broken", "slow", "slower")
  runAsServer(reactor)
  await passed(10_000)
  end("slow")
  await passed(5_000)
  end("slower")
  await passed(5_000)
  expect(begun).toEqual(["broken", "slow", "slower"])
})

/** One thing that is due, which the database keeps from being done. */
function refused() {
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

test("what the database refuses is tried at once, and keeps the server unready", async () => {
  const { reactor, tries } = refused()
  const { heard, isReady } = runAsServer(reactor)
  await passed(20_000)
  expect(tries()).toBeGreaterThan(5)
  expect([heard, isReady()]).toEqual([[], false])
})

test("a server that loses the lead tries no more, and is ready again", async () => {
  const { reactor, tries } = refused()
  let isLeading = true
  const { isReady } = runAsServer(reactor, () => isLeading)
  await passed(20_000)
  isLeading = false
  await passed(2_500)
  const before = tries()
  await passed(20_000)
  expect([tries(), isReady()]).toEqual([before, true])
  isLeading = true
  await passed(20_000)
  expect(tries()).toBeGreaterThan(before)
})

test("what is due still after it was done waits for the next look", async () => {
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
  await passed(10_000)
  expect(count).toBeGreaterThan(3)
  expect(count).toBeLessThan(12)
})
