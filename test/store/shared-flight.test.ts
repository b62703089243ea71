// Callers with the same request share one lookup, and when the next lookup starts.
import { expect, test } from "vitest"
import { shareRuns } from "../../src/store/shared/shared-flight.ts"
import { loopTurns } from "../support/wait.ts"

test("callers during a lookup share the next one", async () => {
  const { ask, begun, land } = openFlights()
  const first = ask()
  await nextTurn()
  const others = [ask(), ask()]
  await nextTurn()
  expect(begun).toEqual([0])
  land()
  expect(await first).toBe(1)
  await nextTurn()
  expect(begun).toHaveLength(2)
  land()
  expect(await Promise.all(others)).toEqual([2, 2])
})

test("a single caller never waits for others", async () => {
  const { ask, begun, slept, land } = openFlights()
  for (let count = 1; count <= 3; count++) {
    const asked = ask()
    await nextTurn()
    land()
    expect(await asked).toBe(count)
  }
  expect([begun, slept]).toEqual([[0, 0, 0], []])
})

test("after a shared lookup, the next collects callers until its time", async () => {
  const { ask, begun, slept, land, clock } = openFlights()
  const shared = [ask(), ask()]
  await nextTurn()
  clock.now = 4
  land()
  await Promise.all(shared)
  const next = ask()
  await nextTurn()
  expect(slept).toEqual([6])
  clock.wake(10)
  const late = ask()
  await nextTurn()
  expect(begun).toEqual([0, 10])
  land()
  expect(await Promise.all([next, late])).toEqual([2, 2])
})

test("a failure is reported to all its callers, and the next lookup starts again", async () => {
  const { ask, land } = openFlights()
  const asked = [ask(), ask()]
  await nextTurn()
  land(new Error("gone"))
  for (const each of asked) await expect(each).rejects.toThrow("gone")
})

/** The clock advances only in the test; a lookup ends on request. */
function openFlights() {
  const clock = { now: 0, wake: (_: number) => {} }
  const begun: number[] = []
  const slept: number[] = []
  let flight = Promise.withResolvers<number>()
  const work = () => {
    begun.push(clock.now)
    flight = Promise.withResolvers<number>()
    return flight.promise
  }
  const sleep = (ms: number) => {
    slept.push(ms)
    return new Promise<void>((done) => {
      clock.wake = (now) => {
        clock.now = now
        done()
      }
    })
  }
  const land = (cause?: Error) => (cause ? flight.reject(cause) : flight.resolve(begun.length))
  return {
    ask: shareRuns(work, { ms: 10, now: () => clock.now, sleep }),
    begun,
    slept,
    land,
    clock,
  }
}

const nextTurn = () => loopTurns()
