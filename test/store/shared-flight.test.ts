// Who asks for the same is answered by one look, and when the next look begins.
import { expect, test } from "vitest"
import { shareFlight } from "../../src/store/shared/shared-flight.ts"
import { loopTurns } from "../support/wait.ts"

test("who comes while one is under way waits for the next, with all who came since", async () => {
  const { ask, begun, land } = flights()
  const first = ask()
  await turn()
  const others = [ask(), ask()]
  await turn()
  expect(begun).toEqual([0])
  land()
  expect(await first).toBe(1)
  await turn()
  expect(begun).toHaveLength(2)
  land()
  expect(await Promise.all(others)).toEqual([2, 2])
})

test("whoever is alone never waits for others", async () => {
  const { ask, begun, slept, land } = flights()
  for (let count = 1; count <= 3; count++) {
    const asked = ask()
    await turn()
    land()
    expect(await asked).toBe(count)
  }
  expect([begun, slept]).toEqual([[0, 0, 0], []])
})

test("where several share one, the next gathers until its time", async () => {
  const { ask, begun, slept, land, clock } = flights()
  const shared = [ask(), ask()]
  await turn()
  clock.now = 4
  land()
  await Promise.all(shared)
  const next = ask()
  await turn()
  expect(slept).toEqual([6])
  clock.wake(10)
  const late = ask()
  await turn()
  expect(begun).toEqual([0, 10])
  land()
  expect(await Promise.all([next, late])).toEqual([2, 2])
})

test("what fails is told to those who shared it, and the next begins anew", async () => {
  const { ask, land } = flights()
  const asked = [ask(), ask()]
  await turn()
  land(new Error("gone"))
  for (const each of asked) await expect(each).rejects.toThrow("gone")
})

/** Time stands still but where a test moves it; a flight ends when it is told to. */
function flights() {
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
    ask: shareFlight(work, { ms: 10, now: () => clock.now, sleep }),
    begun,
    slept,
    land,
    clock,
  }
}

const turn = () => loopTurns()
