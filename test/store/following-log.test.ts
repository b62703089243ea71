// How a node applies the events of other nodes, page by page.
import { expect, test } from "vitest"
import { systemClock } from "../../src/kernel/clock.ts"
import type { SqliteLog } from "../../src/store/log/sqlite-log.ts"
import type { Follower } from "../../src/store/shared/follower.ts"
import { createFollowingLog } from "../../src/store/shared/following-log.ts"
import type { LogPage, LogPosition, SharedLog } from "../../src/store/shared/shared-log.ts"
import { loopTurns } from "../support/wait.ts"

const end = 4

test("the next page is requested while one is applied, and none after the last", async () => {
  const { log, asked, taken } = openFollowing()
  await log.caughtUp()
  await log.close()
  // The end of each page, and the requests by then.
  expect(taken).toEqual([
    { upTo: 1, asked: [0, 1] },
    { upTo: 2, asked: [0, 1, 2] },
    { upTo: 3, asked: [0, 1, 2, 3] },
    { upTo: 4, asked: [0, 1, 2, 3] },
  ])
  expect(asked).toEqual([0, 1, 2, 3])
})

test("after a page that could not be applied, nothing is applied until it is requested again", async () => {
  const { log, taken, lost } = openFollowing({ refused: 2 })
  // A caller that waits during the failure gets an error; the loop continues.
  await log.caughtUp().catch(() => undefined)
  await log.caughtUp()
  await log.close()
  expect(taken.map(({ upTo }) => upTo)).toEqual([1, 2, 2, 3, 4])
  expect(lost.map(String)).toEqual(["Error: page 2"])
})

test("a notification is checked after a moment, unless its events have already arrived", async () => {
  const { log, asked, say, passed } = openFollowing()
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

test("a transaction without a response of the log is rejected within five seconds", async () => {
  const { log, passed, append } = openFollowing()
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

/** A log of four pages with one position each; the failing one fails once. */
function openFollowing({ refused = 0 } = {}) {
  let place: LogPosition = { position: 0, number: 0, epoch: 1 }
  const asked: number[] = []
  const taken: { upTo: number; asked: readonly number[] }[] = []
  const lost: unknown[] = []
  let say: (position: number) => void = () => {}
  let now = 0
  /** Advances the clock and waits for due work. */
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
      return { head, upTo, events: [], changes: [] } satisfies LogPage
    },
    listen: async (wake) => {
      say = wake
    },
    close: () => Promise.resolve(),
  }
  const follower: Follower = {
    place: () => place,
    isUpToDate: ({ position }) => place.position >= position,
    apply: async ({ upTo }) => {
      taken.push({ upTo: upTo.position, asked: [...asked] })
      if (upTo.position === refused && lost.length === 0) throw new Error(`page ${refused}`)
      place = upTo
    },
  }
  const log = createFollowingLog({
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
