import { afterEach, beforeEach, expect, test } from "vitest"
import { aggregate, cacheQuery, type Event } from "../../src/store/index.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"

type Happened<Name extends string> = Event<`${Name}.happened`>

const kind = <Name extends string>(stream: Name) =>
  aggregate<Happened<string>, number>({
    stream,
    initial: 0,
    evolve: { [`${stream}.happened`]: (count: number) => count + 1 },
  })
const red = kind("red")
const blue = kind("blue")

let world: TestEnvironment
beforeEach(() => {
  world = openTestEnvironment({ aggregates: [red, blue], views: [] })
})
afterEach(() => world.close())

const appendEvent = (of: typeof red, id = "1") =>
  world.store.transact(world.cx(), (tx) => {
    tx.append(of, id, [{ type: `${of.stream}.happened`, data: {} }])
  })

test("a derived value is recomputed after a write to one of its streams", async () => {
  let computed = 0
  const count = cacheQuery(
    (cx) => {
      computed++
      return cx.store.state(cx, red, "1")
    },
    ["red"],
  )
  expect(count(world.cx())).toBe(0)
  await appendEvent(blue)
  expect(count(world.cx())).toBe(0)
  expect(computed).toBe(1)
  await appendEvent(red)
  expect(count(world.cx())).toBe(1)
  expect(computed).toBe(2)
})

test("written data is readable immediately, before it is on disk", async () => {
  const count = cacheQuery((cx) => cx.store.state(cx, red, "1"), ["red"])
  expect(count(world.cx())).toBe(0)
  const writing = appendEvent(red)
  await Promise.resolve()
  await writing
  expect(count(world.cx())).toBe(1)
})

test("a rejected transaction leaves cached values unchanged", async () => {
  const count = cacheQuery((cx) => cx.store.state(cx, red, "1"), ["red"])
  await appendEvent(red)
  expect(count(world.cx())).toBe(1)
  const refused = world.store.transact(world.cx(), (tx) => {
    tx.append(red, "1", [{ type: "red.happened", data: {} }])
    throw new Error("refused")
  })
  await expect(refused).rejects.toThrow("refused")
  expect(count(world.cx())).toBe(1)
})

test("values are separate for each instance", async () => {
  const count = cacheQuery((cx) => cx.store.state(cx, red, "1"), ["red"])
  await appendEvent(red)
  expect(count(world.cx())).toBe(1)
  expect(count(world.cx({ instance: "other" }))).toBe(0)
})
