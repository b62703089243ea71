// How a node takes what others wrote, page by page.
import { expect, test } from "vitest"
import { systemClock } from "../../src/kernel/clock.ts"
import type { SqliteLog } from "../../src/store/log/sqlite-log.ts"
import type { Follower } from "../../src/store/shared/follower.ts"
import { followingLog } from "../../src/store/shared/following-log.ts"
import type { Page, Place, SharedLog } from "../../src/store/shared/shared-log.ts"
import { loopTurns } from "../support/wait.ts"

const end = 4

test("the next page is asked for while one is written, and none after the last", async () => {
  const { log, asked, taken } = following()
  await log.caughtUp()
  await log.close()
  // Of each page up to where, and what had been asked for by then.
  expect(taken).toEqual([
    { upTo: 1, asked: [0, 1] },
    { upTo: 2, asked: [0, 1, 2] },
    { upTo: 3, asked: [0, 1, 2, 3] },
    { upTo: 4, asked: [0, 1, 2, 3] },
  ])
  expect(asked).toEqual([0, 1, 2, 3])
})

test("after a page that could not be written nothing is, until it was asked again", async () => {
  const { log, taken, lost } = following({ refused: 2 })
  // Whoever waits as it fails is told; the loop goes on by itself.
  await log.caughtUp().catch(() => undefined)
  await log.caughtUp()
  await log.close()
  expect(taken.map(({ upTo }) => upTo)).toEqual([1, 2, 2, 3, 4])
  expect(lost.map(String)).toEqual(["Error: page 2"])
})

test("a notice is looked for after a moment, and not where all of it is here by then", async () => {
  const { log, asked, say, passed } = following()
  await log.caughtUp()
  asked.splice(0)
  say(end)
  await passed(50)
  expect(asked).toEqual([])
  say(end + 1)
  await passed(4)
  expect(asked).toEqual([])
  await passed(1)
  expect(asked[0]).toBe(end)
  await log.close()
})

test("a step that the log does not answer is refused within five seconds", async () => {
  const { log, passed, append } = following()
  await log.caughtUp()
  const step = { instance: "i", time: 0, expect: [], claims: [], events: [] }
  const refused = expect(log.append(step)).rejects.toMatchObject({
    code: "unavailable",
    id: "store.database_unreachable",
  })
  await passed(4000)
  await refused
  append.reject(new Error("too late"))
  await log.close()
})

/** A log of four pages with one position each; the one that is refused is so once. */
function following({ refused = 0 } = {}) {
  let place: Place = { position: 0, number: 0, epoch: 1 }
  const asked: number[] = []
  const taken: { upTo: number; asked: readonly number[] }[] = []
  const lost: unknown[] = []
  let say: (position: number) => void = () => {}
  let now = 0
  /** Time goes on, and whoever had something to do by then has done it. */
  const passed = async (ms: number) => {
    now += ms
    await loopTurns(20)
  }
  const append = Promise.withResolvers<never>()
  const head = { position: end, number: 0 }
  const shared: Pick<SharedLog, "append" | "head" | "read" | "listen" | "close"> = {
    append: () => append.promise,
    head: async () => ({ ...head, time: Date.now(), isSame: true }),
    read: async ({ position }) => {
      asked.push(position)
      const upTo = { position: position + 1, number: 0, epoch: 1 }
      return { head, upTo, events: [], changes: [] } satisfies Page
    },
    listen: async (wake) => {
      say = wake
    },
    close: () => Promise.resolve(),
  }
  const follower: Follower = {
    place: () => place,
    has: ({ position }) => place.position >= position,
    take: async ({ upTo }) => {
      taken.push({ upTo: upTo.position, asked: [...asked] })
      if (upTo.position === refused && lost.length === 0) throw new Error(`page ${refused}`)
      place = upTo
    },
  }
  const log = followingLog({
    // Reason for the casts: nothing is written here.
    local: {
      close: () => Promise.resolve(),
      rehearse: () => Promise.resolve(undefined),
    } as Partial<SqliteLog> as SqliteLog,
    shared: shared as SharedLog,
    follower,
    reduce: () => {},
    faultOf: () => undefined,
    found: () => {},
    sleep: () => loopTurns(1),
    now: () => now,
    clock: systemClock,
    lost: (cause) => lost.push(cause),
  })
  return { log, append, asked, taken, lost, passed, say: (position: number) => say(position) }
}
