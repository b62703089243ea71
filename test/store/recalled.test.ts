// The number of cached states is limited, however many streams a process has read.
import { expect, test } from "vitest"
import { createRowCache } from "../../src/store/state/row-cache.ts"

const max = 100
const row = (at: number) => ({
  version: 1,
  position: at,
  created: 0,
  changed: 0,
  owner: "",
  state: {},
})

test("at most twice the configured number of rows is kept, including the last used", () => {
  const rows = createRowCache(max)
  const keys = Array.from({ length: 5000 }, (_, at) => ({
    at,
    instance: `${at % 3}`,
    stream: `stream-${at % 7}`,
    id: `${at}`,
  }))
  for (const { at, instance, stream, id } of keys) {
    rows.set(instance, stream, id, row(at))
    // It is read repeatedly and therefore stays.
    expect(rows.get("0", "stream-0", "0")).toBeDefined()
  }
  // A lookup here does not keep entries: each is looked up once, newest first.
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
