import { afterEach, beforeEach, expect, test } from "vitest"
import { aggregate, cached, type Event } from "../../src/store/index.ts"
import { openWorld, type World } from "../support/world.ts"

type Happened<Name extends string> = Event<`${Name}.happened`>

const kind = <Name extends string>(stream: Name) =>
  aggregate<Happened<string>, number>({
    stream,
    initial: 0,
    evolve: { [`${stream}.happened`]: (count: number) => count + 1 },
  })
const red = kind("red")
const blue = kind("blue")

let world: World
beforeEach(() => {
  world = openWorld({ aggregates: [red, blue], views: [] })
})
afterEach(() => world.close())

const happen = (of: typeof red, id = "1") =>
  world.store.transact(world.cx(), (tx) => {
    tx.append(of, id, [{ type: `${of.stream}.happened`, data: {} }])
  })

test("what depends on some streams is computed again when one of them was written", async () => {
  let computed = 0
  const count = cached(
    (cx) => {
      computed++
      return cx.store.state(cx, red, "1")
    },
    ["red"],
  )
  expect(count(world.cx())).toBe(0)
  await happen(blue)
  expect(count(world.cx())).toBe(0)
  expect(computed).toBe(1)
  await happen(red)
  expect(count(world.cx())).toBe(1)
  expect(computed).toBe(2)
})

test("what is written can be read at once, while it is not yet on disk", async () => {
  const count = cached((cx) => cx.store.state(cx, red, "1"), ["red"])
  expect(count(world.cx())).toBe(0)
  const writing = happen(red)
  await Promise.resolve()
  await writing
  expect(count(world.cx())).toBe(1)
})

test("a refused step leaves what is known as it is", async () => {
  const count = cached((cx) => cx.store.state(cx, red, "1"), ["red"])
  await happen(red)
  expect(count(world.cx())).toBe(1)
  const refused = world.store.transact(world.cx(), (tx) => {
    tx.append(red, "1", [{ type: "red.happened", data: {} }])
    throw new Error("refused")
  })
  await expect(refused).rejects.toThrow("refused")
  expect(count(world.cx())).toBe(1)
})

test("each instance has its own", async () => {
  const count = cached((cx) => cx.store.state(cx, red, "1"), ["red"])
  await happen(red)
  expect(count(world.cx())).toBe(1)
  expect(count(world.cx({ instance: "other" }))).toBe(0)
})
