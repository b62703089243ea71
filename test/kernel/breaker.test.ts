import { expect, test } from "vitest"
import { createBreaker } from "../../src/kernel/breaker.ts"
import { manualClock } from "../../src/kernel/clock.ts"

const start = 1_800_000_000_000
const failingCall = () => Promise.reject(new Error("no answer"))

async function failCall(
  breaker: ReturnType<typeof createBreaker>,
  clock: ReturnType<typeof manualClock>,
  onBehalfOf?: string,
) {
  const options = onBehalfOf === undefined ? {} : { onBehalfOf }
  await expect(breaker({ clock }, "mail", failingCall, options)).rejects.toThrow("no answer")
}

test("failures on behalf of one recipient count once", async () => {
  const [clock, breaker] = [manualClock(start), createBreaker()]
  for (let each = 0; each < 20; each++) await failCall(breaker, clock, "ada")
  expect(breaker.resting({ clock }, "mail")).toBeUndefined()
  for (const name of ["eva", "ida", "olga"]) await failCall(breaker, clock, name)
  expect(breaker.resting({ clock }, "mail")).toBeUndefined()
  await failCall(breaker, clock, "pat")
  expect(breaker.resting({ clock }, "mail")).toMatchObject({ error: "no answer" })
})

test("a success resets the count", async () => {
  const [clock, breaker] = [manualClock(start), createBreaker()]
  for (const name of ["ada", "eva", "ida", "olga"]) await failCall(breaker, clock, name)
  await breaker({ clock }, "mail", async () => {}, { onBehalfOf: "pat" })
  for (const name of ["ada", "eva", "ida", "olga"]) await failCall(breaker, clock, name)
  expect(breaker.resting({ clock }, "mail")).toBeUndefined()
})

test("after the pause one call tries again", async () => {
  const [clock, breaker] = [manualClock(start), createBreaker()]
  for (let each = 0; each < 5; each++) await failCall(breaker, clock)
  clock.advance(30_000)
  const { promise, resolve } = Promise.withResolvers<void>()
  const trying = breaker({ clock }, "mail", () => promise)
  await expect(breaker({ clock }, "mail", failingCall)).rejects.toThrow(
    "calls are paused for 30 seconds",
  )
  resolve()
  await trying
  await breaker({ clock }, "mail", async () => {})
})
