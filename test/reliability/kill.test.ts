import { afterAll, expect, test } from "vitest"
import { type Killed, killLoop } from "./kill.ts"
import { openRooms, replayDifferences } from "./replay.ts"

let killed: Killed
afterAll(() => killed?.remove())

test("killed 20 times at work, the server keeps every promise (R-01)", async () => {
  killed = await killLoop(20, 600)
  expect(killed.complaints).toEqual([])
  expect(killed.acknowledged).toBeGreaterThan(500)
  expect(killed.readyMsMax).toBeLessThan(2000)
}, 120_000)

test("what it left replays to the same rows, three times, deletions included (R-10)", async () => {
  for (let round = 1; round <= 3; round++) {
    expect(await replayDifferences(killed.database), `round ${round}`).toEqual([])
  }
})

test("its positions have no gap and each stream's versions neither (R-01)", async () => {
  const store = openRooms(killed.database)
  const events = await store.log.read(0, 1_000_000)
  expect(events.every((event, index) => event.position === index + 1)).toBe(true)
  const versions = new Map<string, number>()
  for (const { instance, stream, id, version } of events) {
    const key = `${instance}/${stream}/${id}`
    expect(version, key).toBe((versions.get(key) ?? 0) + 1)
    versions.set(key, version)
  }
  await store.close()
})
