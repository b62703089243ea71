// The states that a process keeps in memory are bounded, however many streams it has seen.
import { expect, test } from "vitest"
import { recalled } from "../../src/store/state/recalled.ts"

const max = 100
const row = (at: number) => ({
  version: 1,
  position: at,
  created: 0,
  changed: 0,
  owner: "",
  state: {},
})

test("at most twice as many rows as it is told are kept, the last used among them", () => {
  const rows = recalled(max)
  const keys = Array.from({ length: 5000 }, (_, at) => ({
    at,
    instance: `${at % 3}`,
    stream: `stream-${at % 7}`,
    id: `${at}`,
  }))
  for (const { at, instance, stream, id } of keys) {
    rows.set(instance, stream, id, row(at))
    // Asked for all the time, it stays.
    expect(rows.get("0", "stream-0", "0")).toBeDefined()
  }
  // To look does not keep: each is looked for once, the newest first.
  const kept = keys.toReversed().filter(({ instance, stream, id }) => {
    const is = rows.get(instance, stream, id) !== undefined
    rows.delete(instance, stream, id)
    return is
  })
  expect(kept.length).toBeLessThanOrEqual(2 * max)
  expect(kept.length).toBeGreaterThanOrEqual(max)
  expect(kept.slice(0, max - 1).map(({ at }) => at)).toEqual(
    keys
      .slice(1 - max)
      .map(({ at }) => at)
      .toReversed(),
  )
})
