// The pruner runs by the clock while the server runs.
import { afterEach, beforeEach, expect, test } from "vitest"
import { runPruner } from "../../src/store/index.ts"
import type { Pruner } from "../../src/store/retention/pruner.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import { pause } from "../support/wait.ts"
import { beginVisit, day, endVisit, hour, visitModules, visitRows, writeEntry } from "./visit.ts"

let world: TestEnvironment
let pruner: Pruner | undefined
let failures: unknown[]
let passCount: number
let retentionDays: Map<string, number>
beforeEach(() => {
  world = openTestEnvironment(visitModules)
  failures = []
  passCount = Number.MAX_SAFE_INTEGER
  retentionDays = new Map()
  pruner = runPruner({
    store: world.store,
    clock: world.clock,
    auditRetentionDays: 7,
    auditRetention: () => retentionDays,
    passed: () => passCount,
    failed: (cause) => failures.push(cause),
  })
})
afterEach(async () => {
  await pruner?.stop()
  await world.close()
})

const cx = () => world.cx()
const minute = 60_000

/** Advances the clock by minutes, and waits for due work in between. */
async function passMinutes(minutes: number): Promise<void> {
  await waitForPass()
  for (let count = 0; count < minutes; count++) {
    world.clock.advance(minute)
    await waitForPass()
  }
}

async function waitForPass(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test("an instance with a shorter retention is checked within the hour", async () => {
  await writeEntry(cx(), "e1", "ada")
  await beginVisit(cx(), "1", { name: "ada" })
  await passMinutes(1)
  retentionDays.set("i1", 60 * minute)
  await passMinutes(59)
  expect(visitRows(cx())[1]).toHaveLength(1)
  world.clock.advance(2 * hour)
  await passMinutes(2)
  expect(visitRows(cx())[1]).toEqual([])
})

test("deletes expired streams every minute", async () => {
  await beginVisit(cx(), "1", { name: "ada" })
  await endVisit(cx(), "1")
  await beginVisit(cx(), "2", { name: "bob" })
  await writeEntry(cx(), "e1", "ada")
  world.clock.advance(2 * hour - 2 * minute)
  await passMinutes(1)
  expect(visitRows(cx())[0]).toHaveLength(2)
  await passMinutes(1)
  expect(visitRows(cx())[0]).toMatchObject([{ id: "2" }])
  await endVisit(cx(), "2")
  await writeEntry(cx(), "e2", "bob")
  world.clock.advance(7 * day + hour)
  await passMinutes(1)
  expect(visitRows(cx())).toMatchObject([[], [{ id: "e2" }]])
})

test("keeps events until every reactor has processed them", async () => {
  await beginVisit(cx(), "1", { name: "ada" })
  await endVisit(cx(), "1")
  await writeEntry(cx(), "e1", "ada")
  passCount = 1
  world.clock.advance(day)
  await passMinutes(2)
  expect(visitRows(cx())[0]).toHaveLength(1)
  passCount = 2
  await passMinutes(1)
  expect(visitRows(cx())[0]).toEqual([])
})

test("a failed pass is reported, undone, and retried a minute later", async () => {
  await beginVisit(cx(), "1", { name: "ada" })
  await endVisit(cx(), "1")
  await writeEntry(cx(), "e1", "ada")
  const { database } = world.store
  database.run(`CREATE TEMP TRIGGER full BEFORE DELETE ON main.state
    BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`)
  world.clock.advance(day)
  await passMinutes(1)
  expect(failures).toMatchObject([{ message: "the disk is full" }])
  expect(visitRows(cx())[0]).toHaveLength(1)
  expect(await world.store.log.read(0, 9)).toHaveLength(3)
  database.run("DROP TRIGGER full")
  await passMinutes(1)
  expect(failures).toHaveLength(1)
  expect(visitRows(cx())[0]).toEqual([])
})

test("a stopped pruner deletes nothing", async () => {
  await beginVisit(cx(), "1", { name: "ada" })
  await endVisit(cx(), "1")
  await writeEntry(cx(), "e1", "ada")
  await pruner?.stop()
  world.clock.advance(day)
  await passMinutes(3)
  expect(visitRows(cx())[0]).toHaveLength(1)
})

test("three simulated weeks leave current visits and the entries of one week", async () => {
  let visits = 0
  const perHour = 3
  const sizes: number[] = []
  for (let hours = 0; hours < 3 * 7 * 24; hours++) {
    for (let count = 0; count < perHour; count++) {
      const id = `${visits++}`
      await beginVisit(cx(), id, { name: `guest ${id}` })
      await endVisit(cx(), id)
      await writeEntry(cx(), `e${id}`, `guest ${id}`)
    }
    world.clock.advance(hour - minute)
    await passMinutes(1)
    if (hours % 24 === 23) sizes.push(await countEvents())
  }
  expect(failures).toEqual([])
  const bookOfAWeek = (7 * 24 + 2) * perHour
  const visitsHere = 2 * 3 * perHour
  expect(Math.max(...sizes.slice(8))).toBeLessThanOrEqual(bookOfAWeek + visitsHere)
  // A round can start an hour or two late on any day.
  const lately = (sizes.at(-1) ?? 0) - (sizes[9] ?? 0)
  expect(Math.abs(lately)).toBeLessThanOrEqual(visitsHere)
})

test("after a kill, streams exist completely or not at all", async () => {
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
  expect(visitRows(left.cx())[0]).toHaveLength((streams ?? 0) - 1)
  expect((await beginVisit(left.cx(), "new", { name: "new" })).position).toBe(6002)
  await left.close()
})

/** On a busy machine the child starts late: repeats until one was killed in the middle. */
async function killedInTheMiddle(): Promise<TestEnvironment> {
  for (let afterMs = 20; ; afterMs *= 2) {
    const folder = temporaryFolder()
    const script = `${import.meta.dirname}/prune/child.ts`
    const child = Bun.spawn([process.execPath, script, folder.path], { stdout: "pipe" })
    await child.stdout.getReader().read()
    await pause(afterMs, "the kill must come at any moment of the work, which waits for nobody")
    child.kill("SIGKILL")
    await child.exited
    const left = openTestEnvironment(visitModules, folder)
    const events = (await left.store.log.read(0, 100_000)).length
    if (events < 6001 || afterMs > 2000) return left
    await left.close()
  }
}

const countEvents = async () => (await world.store.log.read(0, 100_000)).length
