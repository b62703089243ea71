// What the writer process sends to the workers, and stores for them.
import { expect, test } from "vitest"
import { manualClock } from "../../src/kernel/clock.ts"
import { startReadinessNotices } from "../../src/server/worker/readiness-notice.ts"
import { createUsedOnce } from "../../src/server/worker/used-once.ts"

/** A channel that records its messages. */
function openChannel() {
  const said: unknown[] = []
  const ask = <T>(_: string, input?: unknown) => {
    said.push(input)
    // Reason for the cast: the result is not used.
    return Promise.resolve(undefined as T)
  }
  return { said, line: { ask } }
}

const nextTurn = () => new Promise((done) => setImmediate(done))

test("each worker receives the readiness once, and then its changes", async () => {
  const clock = manualClock(0)
  const [first, second] = [openChannel(), openChannel()]
  const lines = [first.line]
  let why: string | undefined
  const telling = startReadinessNotices(
    () => why,
    () => lines,
    clock,
  )
  const pass = async () => {
    await nextTurn()
    clock.advance(200)
    await nextTurn()
  }
  await pass()
  await pass()
  // A worker that started while the service was not ready must learn when it is.
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

test("a one-time use is known to all workers for its lifetime", async () => {
  const clock = manualClock(0)
  const spend = createUsedOnce(clock, 2)
  expect([await spend("a", 60_000), await spend("a", 60_000)]).toEqual([true, false])
  clock.advance(59_999)
  expect(await spend("a", 60_000)).toBe(false)
  clock.advance(1)
  expect(await spend("a", 120_000)).toBe(true)
})

test("shared entries are limited; the older half is dropped", async () => {
  const clock = manualClock(0)
  const spend = createUsedOnce(clock, 2, 3)
  for (let use = 0; use < 6; use++) expect(await spend(`${use}`, 60_000)).toBe(true)
  await expect(spend("6", 60_000)).rejects.toMatchObject({ code: "unavailable" })
  expect(await spend("5", 60_000)).toBe(false)
  clock.advance(90_000)
  expect(await spend("6", 150_000)).toBe(true)
})
