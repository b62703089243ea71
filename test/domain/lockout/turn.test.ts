// Attempts for one account in several processes with one database share one queue.
import { afterEach, beforeEach, expect, test } from "vitest"
import { createSlotServer, runThrottled } from "../../../src/domain/lockout/attempt.ts"
import { aggregates, views } from "../../../src/server/modules.ts"
import { createWriterHandlers, type Store } from "../../../src/store/index.ts"
import { openTestEnvironment, type TestEnvironment } from "../../support/test-environment.ts"
import { loopTurns } from "../../support/wait.ts"
import { openWorkerStore } from "../../support/worker-store.ts"

let world: TestEnvironment
let turns: ReturnType<typeof createSlotServer>
let otherStore: Store
let beingChecked: string[]
beforeEach(() => {
  world = openTestEnvironment({ aggregates, views })
  const { store, clock } = world
  beingChecked = []
  turns = createSlotServer({ store, clock })
  const handlers = { ...createWriterHandlers(store, async () => true), ...turns }
  const options = { file: store.database.filename, aggregates, views }
  otherStore = openWorkerStore(store, options, 1, handlers).store
})
afterEach(async () => {
  await otherStore.close()
  await world.close()
})

/** An attempt that is checked until the test decides its result. */
function startAttempt(store: Store, name: string) {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const told = runThrottled(
    { ...world.cx(), store },
    { line: "ada", isStranger: false },
    async () => {
      beingChecked.push(name)
      return { value: name, isRight: await promise }
    },
  )
  return { end: resolve, told }
}

/** Waits until these are checked and all messages between the processes have arrived. */
async function waitForChecked(expected: readonly string[]): Promise<void> {
  await expect.poll(() => beingChecked).toEqual(expected)
  await loopTurns()
  expect(beingChecked).toEqual(expected)
}

test("an attempt waits for those in other processes, whose results count for it", async () => {
  const [first, second] = [startAttempt(world.store, "here"), startAttempt(otherStore, "there")]
  await waitForChecked(["here", "there"])
  const third = startAttempt(otherStore, "there, too")
  await waitForChecked(["here", "there"])
  second.end(true)
  await waitForChecked(["here", "there", "there, too"])
  first.end(true)
  third.end(true)
  expect(await Promise.all([first.told, second.told, third.told])).toEqual(beingChecked)
})

test("a process that has ended blocks no one", async () => {
  const lost = [
    startAttempt(otherStore, "lost"),
    startAttempt(otherStore, "lost, too"),
    startAttempt(otherStore, "waits"),
  ]
  await waitForChecked(["lost", "lost, too"])
  const here = startAttempt(world.store, "here")
  await waitForChecked(["lost", "lost, too"])
  turns.gone()
  await expect.poll(() => beingChecked).toContain("here")
  for (const { end } of [...lost, here]) end(true)
  expect(await here.told).toBe("here")
  await Promise.allSettled(lost.map(({ told }) => told))
})
