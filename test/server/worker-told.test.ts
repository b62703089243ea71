// What the process that writes tells the others, and keeps for them.
import { expect, test } from "vitest"
import { manualClock } from "../../src/kernel/clock.ts"
import { spentOnce } from "../../src/server/worker/spent.ts"
import { tellingReadiness } from "../../src/server/worker/telling.ts"

/** A line that notes what was said on it. */
function openLine() {
  const said: unknown[] = []
  const ask = <T>(_: string, given?: unknown) => {
    said.push(given)
    // Reason for the cast: nothing is answered to that.
    return Promise.resolve(undefined as T)
  }
  return { said, line: { ask } }
}

const turn = () => new Promise((done) => setImmediate(done))

test("each is told once whether the service is ready, and then what changes", async () => {
  const clock = manualClock(0)
  const [first, second] = [openLine(), openLine()]
  const lines = [first.line]
  let why: string | undefined
  const telling = tellingReadiness(
    () => why,
    () => lines,
    clock,
  )
  const pass = async () => {
    await turn()
    clock.advance(200)
    await turn()
  }
  await pass()
  await pass()
  // Whoever began while it was not ready has to hear that it is.
  expect(first.said).toEqual([""])
  why = "the disk is full"
  await pass()
  lines.push(second.line)
  await pass()
  why = undefined
  await pass()
  await pass()
  expect(first.said).toEqual(["", "the disk is full", ""])
  expect(second.said).toEqual(["the disk is full", ""])
  await telling.stop()
})

test("what is used once is known to all, for as long as it counts", async () => {
  const clock = manualClock(0)
  const spend = spentOnce(clock, 2)
  expect([await spend("a", 60_000), await spend("a", 60_000)]).toEqual([true, false])
  clock.advance(59_999)
  expect(await spend("a", 60_000)).toBe(false)
  clock.advance(1)
  expect(await spend("a", 120_000)).toBe(true)
})

test("there is room for what all may keep, until the older half is forgotten", async () => {
  const clock = manualClock(0)
  const spend = spentOnce(clock, 2, 3)
  for (let use = 0; use < 6; use++) expect(await spend(`${use}`, 60_000)).toBe(true)
  await expect(spend("6", 60_000)).rejects.toMatchObject({ code: "unavailable" })
  expect(await spend("5", 60_000)).toBe(false)
  clock.advance(90_000)
  expect(await spend("6", 150_000)).toBe(true)
})
