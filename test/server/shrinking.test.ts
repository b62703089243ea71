// A server that rests gives its memory back, and one that works keeps what it works with.
import { expect, test } from "vitest"
import { manualClock } from "../../src/kernel/clock.ts"
import { keepShrinking } from "../../src/server/background/shrinking.ts"
import type { Store } from "../../src/store/index.ts"
import { allAccounts, modules, openAccount } from "../store/account.ts"
import { openWorld } from "../support/world.ts"

const settled = () => new Promise((done) => setImmediate(done))

test("memory is given back in rounds without a write, and in no others", async () => {
  const clock = manualClock(0)
  let [writes, shrunk] = [7, 0]
  // Reason for the cast: this is all that is asked of a store.
  const store = { log: { writes: () => writes }, shrink: () => void shrunk++ } as unknown as Store
  const shrinking = keepShrinking({ store, clock })
  const round = async (written: number) => {
    await settled()
    writes += written
    clock.advance(5000)
    await settled()
    return shrunk
  }
  expect(await round(1)).toBe(0)
  expect(await round(2)).toBe(0)
  expect(await round(0)).toBe(1)
  expect(await round(0)).toBe(2)
  expect(await round(1)).toBe(2)
  await shrinking.stop()
  expect(clock.pending()).toBe(0)
})

test("a store finds and writes as before when its memory was given back", async () => {
  const { store, cx, close } = openWorld(modules)
  await openAccount(cx(), "a1", { name: "Ada" })
  store.shrink()
  expect(store.all(cx(), allAccounts)).toHaveLength(1)
  await openAccount(cx(), "a2", { name: "Bob" })
  expect(store.all(cx(), allAccounts)).toHaveLength(2)
  await close()
})
