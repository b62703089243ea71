import { expect, test } from "vitest"
import { breakerOf } from "../../src/kernel/breaker.ts"
import { manualClock } from "../../src/kernel/clock.ts"

const start = 1_800_000_000_000
const failing = () => Promise.reject(new Error("no answer"))

async function failed(
  breaker: ReturnType<typeof breakerOf>,
  clock: ReturnType<typeof manualClock>,
  onBehalfOf?: string,
) {
  const options = onBehalfOf === undefined ? {} : { onBehalfOf }
  await expect(breaker({ clock }, "mail", failing, options)).rejects.toThrow("no answer")
}

test("failures on behalf of one recipient count once", async () => {
  const [clock, breaker] = [manualClock(start), breakerOf()]
  for (let each = 0; each < 20; each++) await failed(breaker, clock, "ada")
  expect(breaker.resting({ clock }, "mail")).toBeUndefined()
  for (const name of ["eva", "ida", "olga"]) await failed(breaker, clock, name)
  expect(breaker.resting({ clock }, "mail")).toBeUndefined()
  await failed(breaker, clock, "pat")
  expect(breaker.resting({ clock }, "mail")).toMatchObject({ error: "no answer" })
})

test("a success in between ends the row", async () => {
  const [clock, breaker] = [manualClock(start), breakerOf()]
  for (const name of ["ada", "eva", "ida", "olga"]) await failed(breaker, clock, name)
  await breaker({ clock }, "mail", async () => {}, { onBehalfOf: "pat" })
  for (const name of ["ada", "eva", "ida", "olga"]) await failed(breaker, clock, name)
  expect(breaker.resting({ clock }, "mail")).toBeUndefined()
})

test("after the pause one call tries it for all", async () => {
  const [clock, breaker] = [manualClock(start), breakerOf()]
  for (let each = 0; each < 5; each++) await failed(breaker, clock)
  clock.advance(30_000)
  const { promise, resolve } = Promise.withResolvers<void>()
  const trying = breaker({ clock }, "mail", () => promise)
  await expect(breaker({ clock }, "mail", failing)).rejects.toThrow("left alone")
  resolve()
  await trying
  await breaker({ clock }, "mail", async () => {})
})
