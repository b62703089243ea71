// An idle server releases memory, and a busy one keeps it.
import { expect, test } from "vitest"
import { manualClock } from "../../src/kernel/clock.ts"
import { startCacheRelease } from "../../src/server/background/cache-release.ts"
import type { Store } from "../../src/store/index.ts"
import { allAccounts, modules, openAccount } from "../store/account.ts"
import { openTestEnvironment } from "../support/test-environment.ts"

const nextTurn = () => new Promise((done) => setImmediate(done))

test("memory is released only in rounds without a write", async () => {
  const clock = manualClock(0)
  let [writes, shrunk] = [7, 0]
  // Reason for the cast: nothing else of a store is used.
  const store = { log: { writes: () => writes }, shrink: () => void shrunk++ } as unknown as Store
  const shrinking = startCacheRelease({ store, clock })
  const round = async (written: number) => {
    await nextTurn()
    writes += written
    clock.advance(5000)
    await nextTurn()
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

test("a store works as before after its memory was released", async () => {
  const { store, cx, close } = openTestEnvironment(modules)
  await openAccount(cx(), "a1", { name: "Ada" })
  store.shrink()
  expect(store.all(cx(), allAccounts)).toHaveLength(1)
  await openAccount(cx(), "a2", { name: "Bob" })
  expect(store.all(cx(), allAccounts)).toHaveLength(2)
  await close()
})
