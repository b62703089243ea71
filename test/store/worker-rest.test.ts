// How all who read a file come to rest, for its WAL to begin anew.
import { expect, test } from "vitest"
import { pausing } from "../../src/store/worker/readers.ts"

/** Other processes; their searches and those here end when they are told to. */
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
  const pausedAt = pausing(own, workers)().then((readOn) => {
    said.push("paused")
    return readOn
  })
  return { said, here: here.resolve, there: there.resolve, pausedAt }
}

const turn = () => new Promise((done) => setImmediate(done))

test("requests go on while anybody's search does, whoever's it is", async () => {
  for (const [first, second] of [
    ["here", "there"],
    ["there", "here"],
  ] as const) {
    const readers = openReaders()
    readers[first]()
    await turn()
    expect(readers.said).toEqual([])
    readers[second]()
    const readOn = await readers.pausedAt
    expect(readers.said).toEqual(["held", "paused"])
    readOn()
    expect(readers.said.slice(2)).toEqual(["this one reads on", "others read on"])
  }
})

test("nobody is asked where there are no others", async () => {
  const own = async () => () => undefined
  expect(pausing(own)).toBe(own)
})
