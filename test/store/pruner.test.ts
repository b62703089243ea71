// The pruner works by the clock, for as long as the server runs.
import { afterEach, beforeEach, expect, test } from "vitest"
import { runPruner } from "../../src/store/index.ts"
import type { Pruner } from "../../src/store/retention/pruner.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { pause } from "../support/wait.ts"
import { openWorld, type World } from "../support/world.ts"
import { begin, day, end, hour, shown, visitRooms, write } from "./visit.ts"

let world: World
let pruner: Pruner | undefined
let failures: unknown[]
let passed: number
let kept: Map<string, number>
beforeEach(() => {
  world = openWorld(visitRooms)
  failures = []
  passed = Number.MAX_SAFE_INTEGER
  kept = new Map()
  pruner = runPruner({
    store: world.store,
    clock: world.clock,
    auditRetentionDays: 7,
    auditsKept: () => kept,
    passed: () => passed,
    failed: (cause) => failures.push(cause),
  })
})
afterEach(async () => {
  await pruner?.stop()
  await world.close()
})

const cx = () => world.cx()
const minute = 60_000

/** Lets time go by in minutes, and whatever is due happen in between. */
async function live(minutes: number): Promise<void> {
  await settled()
  for (let count = 0; count < minutes; count++) {
    world.clock.advance(minute)
    await settled()
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test("an instance that keeps its audits less long is looked at within the hour", async () => {
  await write(cx(), "e1", "ada")
  await begin(cx(), "1", { name: "ada" })
  await live(1)
  kept.set("i1", 60 * minute)
  await live(59)
  expect(shown(cx())[1]).toHaveLength(1)
  world.clock.advance(2 * hour)
  await live(2)
  expect(shown(cx())[1]).toEqual([])
})

test("every minute what has expired goes", async () => {
  await begin(cx(), "1", { name: "ada" })
  await end(cx(), "1")
  await begin(cx(), "2", { name: "bob" })
  await write(cx(), "e1", "ada")
  world.clock.advance(2 * hour - 2 * minute)
  await live(1)
  expect(shown(cx())[0]).toHaveLength(2)
  await live(1)
  expect(shown(cx())[0]).toMatchObject([{ id: "2" }])
  await end(cx(), "2")
  await write(cx(), "e2", "bob")
  world.clock.advance(7 * day + hour)
  await live(1)
  expect(shown(cx())).toMatchObject([[], [{ id: "e2" }]])
})

test("what a reactor has not seen yet stays until it has", async () => {
  await begin(cx(), "1", { name: "ada" })
  await end(cx(), "1")
  await write(cx(), "e1", "ada")
  passed = 1
  world.clock.advance(day)
  await live(2)
  expect(shown(cx())[0]).toHaveLength(1)
  passed = 2
  await live(1)
  expect(shown(cx())[0]).toEqual([])
})

test("a pass that breaks off is told, undone, and tried again a minute later", async () => {
  await begin(cx(), "1", { name: "ada" })
  await end(cx(), "1")
  await write(cx(), "e1", "ada")
  const { database } = world.store
  database.run(`CREATE TEMP TRIGGER full BEFORE DELETE ON main.state
    BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`)
  world.clock.advance(day)
  await live(1)
  expect(failures).toMatchObject([{ message: "the disk is full" }])
  expect(shown(cx())[0]).toHaveLength(1)
  expect(await world.store.log.read(0, 9)).toHaveLength(3)
  database.run("DROP TRIGGER full")
  await live(1)
  expect(failures).toHaveLength(1)
  expect(shown(cx())[0]).toEqual([])
})

test("one that is stopped drops nothing any more", async () => {
  await begin(cx(), "1", { name: "ada" })
  await end(cx(), "1")
  await write(cx(), "e1", "ada")
  await pruner?.stop()
  world.clock.advance(day)
  await live(3)
  expect(shown(cx())[0]).toHaveLength(1)
})

test("three simulated weeks leave who is here, and the book of one week", async () => {
  let visits = 0
  const perHour = 3
  const sizes: number[] = []
  for (let hours = 0; hours < 3 * 7 * 24; hours++) {
    for (let count = 0; count < perHour; count++) {
      const id = `${visits++}`
      await begin(cx(), id, { name: `guest ${id}` })
      await end(cx(), id)
      await write(cx(), `e${id}`, `guest ${id}`)
    }
    world.clock.advance(hour - minute)
    await live(1)
    if (hours % 24 === 23) sizes.push(await eventsLeft())
  }
  expect(failures).toEqual([])
  const bookOfAWeek = (7 * 24 + 2) * perHour
  const visitsHere = 2 * 3 * perHour
  expect(Math.max(...sizes.slice(8))).toBeLessThanOrEqual(bookOfAWeek + visitsHere)
  // A round may begin an hour or two late, on some day or on the last.
  const lately = (sizes.at(-1) ?? 0) - (sizes[9] ?? 0)
  expect(Math.abs(lately)).toBeLessThanOrEqual(visitsHere)
})

test("killed in the middle, streams are there wholly or gone wholly", async () => {
  const left = await killedInTheMiddle()
  const { database } = left.store
  const count = (sql: string) =>
    database.query<{ n: number }, []>(`SELECT (SELECT ${sql}) AS n`).all()[0]?.n
  const streams = count("count(DISTINCT stream || id) FROM event")
  expect(streams).toBeGreaterThan(1)
  expect(streams).toBeLessThan(3001)
  expect(count("count(*) FROM state")).toBe(streams)
  expect(
    count("(SELECT count(*) FROM event) + (SELECT value FROM meta WHERE key = 'pruned')"),
  ).toBe(6001)
  expect(shown(left.cx())[0]).toHaveLength((streams ?? 0) - 1)
  expect((await begin(left.cx(), "new", { name: "new" })).position).toBe(6002)
  await left.close()
})

/** A busy machine begins late: until one was killed after it began and before it was done. */
async function killedInTheMiddle(): Promise<World> {
  for (let afterMs = 20; ; afterMs *= 2) {
    const folder = temporaryFolder()
    const script = `${import.meta.dirname}/prune/child.ts`
    const child = Bun.spawn([process.execPath, script, folder.path], { stdout: "pipe" })
    await child.stdout.getReader().read()
    await pause(afterMs, "the kill must come at any moment of the work, which waits for nobody")
    child.kill("SIGKILL")
    await child.exited
    const left = openWorld(visitRooms, folder)
    const events = (await left.store.log.read(0, 100_000)).length
    if (events < 6001 || afterMs > 2000) return left
    await left.close()
  }
}

const eventsLeft = async () => (await world.store.log.read(0, 100_000)).length
