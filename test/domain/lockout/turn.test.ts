// Tries of one account at several processes, which answer from one file: they have one line.
import { afterEach, beforeEach, expect, test } from "vitest"
import { inTurn, turnsFor } from "../../../src/domain/lockout/attempt.ts"
import { aggregates, views } from "../../../src/server/modules.ts"
import { type Store, writingHandlers } from "../../../src/store/index.ts"
import { openBeside } from "../../support/beside.ts"
import { loopTurns } from "../../support/wait.ts"
import { openWorld, type World } from "../../support/world.ts"

let world: World
let turns: ReturnType<typeof turnsFor>
let beside: Store
let inside: string[]
beforeEach(() => {
  world = openWorld({ aggregates, views })
  const { store, clock } = world
  inside = []
  turns = turnsFor({ store, clock })
  const handlers = { ...writingHandlers(store, async () => true), ...turns }
  const options = { file: store.database.filename, aggregates, views }
  beside = openBeside(store, options, 1, handlers).store
})
afterEach(async () => {
  await beside.close()
  await world.close()
})

/** A try that is looked at until it is told how it ends. */
function attempt(store: Store, name: string) {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const told = inTurn({ ...world.cx(), store }, { line: "ada", isStranger: false }, async () => {
    inside.push(name)
    return { value: name, isRight: await promise }
  })
  return { end: resolve, told }
}

/** Until these are looked at, and all else that is said between processes has come, too. */
async function settled(expected: readonly string[]): Promise<void> {
  await expect.poll(() => inside).toEqual(expected)
  await loopTurns()
  expect(inside).toEqual(expected)
}

test("a try waits for those at other processes, and what these come to counts for it", async () => {
  const [first, second] = [attempt(world.store, "here"), attempt(beside, "there")]
  await settled(["here", "there"])
  const third = attempt(beside, "there, too")
  await settled(["here", "there"])
  second.end(true)
  await settled(["here", "there", "there, too"])
  first.end(true)
  third.end(true)
  expect(await Promise.all([first.told, second.told, third.told])).toEqual(inside)
})

test("a process that is gone keeps nobody waiting", async () => {
  const lost = [attempt(beside, "lost"), attempt(beside, "lost, too"), attempt(beside, "waits")]
  await settled(["lost", "lost, too"])
  const here = attempt(world.store, "here")
  await settled(["lost", "lost, too"])
  turns.gone()
  await expect.poll(() => inside).toContain("here")
  for (const { end } of [...lost, here]) end(true)
  expect(await here.told).toBe("here")
  await Promise.allSettled(lost.map(({ told }) => told))
})
