// How all readers of a file pause, so that its WAL can restart.
import { expect, test } from "vitest"
import { pauseAll } from "../../src/store/worker/readers.ts"

/** Other processes; their searches and local ones end on request. */
function openReaders() {
  const said: string[] = []
  const [here, there] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const resting = {
    hold: async () => void said.push("held"),
    readOn: () => void said.push("others read on"),
  }
  const workers = {
    spendOnce: async () => true,
    scrub: async () => undefined,
    rest: () => there.promise.then(() => resting),
  }
  const own = () => here.promise.then(() => () => void said.push("this one reads on"))
  const pausedAt = pauseAll(own, workers)().then((readOn) => {
    said.push("paused")
    return readOn
  })
  return { said, here: here.resolve, there: there.resolve, pausedAt }
}

const nextTurn = () => new Promise((done) => setImmediate(done))

test("requests continue during a search of any process", async () => {
  for (const [first, second] of [
    ["here", "there"],
    ["there", "here"],
  ] as const) {
    const readers = openReaders()
    readers[first]()
    await nextTurn()
    expect(readers.said).toEqual([])
    readers[second]()
    const readOn = await readers.pausedAt
    expect(readers.said).toEqual(["held", "paused"])
    readOn()
    expect(readers.said.slice(2)).toEqual(["this one reads on", "others read on"])
  }
})

test("nothing is requested without other processes", async () => {
  const own = async () => () => undefined
  expect(pauseAll(own)).toBe(own)
})
