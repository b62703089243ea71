import { expect, test } from "vitest"
import { createBreaker } from "../../src/kernel/breaker.ts"
import { boundedUntil, isOpenWindow, manualClock } from "../../src/kernel/clock.ts"

const hour = 3_600_000
const day = 24 * hour
const now = 1_800_000_000_000

test.each([
  { what: "begins now", since: now, isOpen: true },
  { what: "began within it", since: now - hour + 1, isOpen: true },
  { what: "is over", since: now - hour, isOpen: false },
  { what: "began on a machine whose clock is ahead a little", since: now + 30_000, isOpen: true },
  { what: "begins in the future", since: now + day, isOpen: false },
])("a window that $what: $isOpen", ({ since, isOpen }) => {
  expect(isOpenWindow(since, hour, now)).toBe(isOpen)
})

test("a retry time is bounded or discarded", () => {
  expect(boundedUntil(now - 1, hour, now)).toBe(now)
  expect(boundedUntil(now + 5, hour, now)).toBe(now + 5)
  expect(boundedUntil(now + hour + 1000, hour, now)).toBe(now + hour)
  expect(boundedUntil(now + day, hour, now)).toBe(now)
})

test("a provider that was paused by a clock that was ahead is tried again", async () => {
  const clock = manualClock(now + day)
  const breaker = createBreaker()
  const failing = () => Promise.reject(new Error("no answer"))
  for (let each = 0; each < 5; each++) {
    await expect(breaker({ clock }, "mail", failing)).rejects.toThrow("no answer")
  }
  expect(breaker.resting({ clock }, "mail")).toBeDefined()
  clock.advance(-day)
  expect(breaker.resting({ clock }, "mail")).toBeUndefined()
})
