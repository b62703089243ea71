import { expect, test } from "vitest"
import { nextAttemptAt } from "../../../src/domain/message/retry.ts"

const minute = 60_000

/** The attempts of a message that is always rejected, in seconds, before `end`. */
function triesUntil(end: number, input: { readonly codeExpires: number }): readonly number[] {
  const times = [0]
  for (let now = 0, tries = 1; tries < 500; tries++) {
    now = nextAttemptAt({ now, tries, ...input })
    if (now >= end) break
    times.push(Math.round(now / 1000))
  }
  return times
}

test("attempts have increasing intervals of at most a quarter of an hour", () => {
  const times = triesUntil(12 * 60 * minute, { codeExpires: 0 })
  expect(times.slice(0, 9)).toEqual([0, 5, 13, 24, 41, 66, 104, 161, 246])
  const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0))
  expect(Math.max(...pauses)).toBe(900)
  expect(times.length).toBeLessThan(70)
})

test.each([1, 5, 10, 15])("greylisting of %i minutes delays a mail by half of that", (many) => {
  const times = triesUntil(60 * minute, { codeExpires: 60 * minute })
  const accepted = times.find((time) => time >= many * 60) ?? Number.POSITIVE_INFINITY
  expect(accepted).toBeLessThanOrEqual(many * 90 + 10)
})

test("a code of five minutes is sent once more half a minute before it expires", () => {
  expect(triesUntil(5 * minute, { codeExpires: 5 * minute }).at(-1)).toBe(270)
})

test("a provider's requested delay is honored up to an hour and the code's expiry", () => {
  const base = { now: 0, tries: 1, codeExpires: 0 }
  expect(nextAttemptAt({ ...base, retryAfterMs: 2 * minute })).toBe(2 * minute)
  expect(nextAttemptAt({ ...base, retryAfterMs: 1_000 })).toBe(5_000)
  expect(nextAttemptAt({ ...base, retryAfterMs: 24 * 60 * minute })).toBe(60 * minute)
  expect(nextAttemptAt({ ...base, codeExpires: 5 * minute, retryAfterMs: 8 * minute })).toBe(
    5 * minute,
  )
})
