// How a node waits before it responds.
import { expect, test } from "vitest"
import { manualClock } from "../../src/kernel/clock.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { waitForCurrentLog } from "../../src/server/node/leadership.ts"
import type { Node } from "../../src/store/index.ts"

const followingNode = (
  caughtUp: Node["caughtUp"],
  sight: Partial<Pick<Node, "lost" | "unseen">> = {},
) => {
  const sees = { lost: () => undefined, unseen: () => 0, ...sight }
  // Reason for the cast: nothing else of a node is used.
  return { node: { caughtUp, ...sees } as Node }
}
const request = () => ({ headers: new Headers() })

test("a completed request leaves no timer", async () => {
  const clock = manualClock(0)
  const node = followingNode(() => Promise.resolve())
  for (let round = 0; round < 100; round++) await waitForCurrentLog(node, request(), clock)
  expect(clock.pending()).toBe(0)
  const broken = followingNode(() => Promise.reject(new Error("no way")))
  await expect(waitForCurrentLog(broken, request(), clock)).rejects.toThrow("no way")
  expect(clock.pending()).toBe(0)
})

test("a request that waits for four seconds fails, and waits once", async () => {
  const clock = manualClock(0)
  let asked = 0
  const node = followingNode(() => {
    asked++
    return asked === 1 ? Promise.withResolvers<void>().promise : Promise.resolve()
  })
  const waiting = waitForCurrentLog(node, request(), clock)
  clock.advance(4000)
  await expect(waiting).rejects.toMatchObject({ code: "unavailable", id: "store.log_unseen" })
  expect(clock.pending()).toBe(0)
  const same = request()
  await waitForCurrentLog(node, same, clock)
  await waitForCurrentLog(node, same, clock)
  expect(asked).toBe(2)
})

test.each([
  [
    "can't be asked",
    { lost: () => new Fault("unavailable", "store.away", "no way") },
    "store.away",
  ],
  ["failed for another reason", { lost: () => new Error("broken") }, "store.log_unseen"],
  ["was not seen for over a second", { unseen: () => 1001 }, "store.log_unseen"],
])("a request is rejected immediately if the log %s", async (_, sight, id) => {
  const clock = manualClock(0)
  const node = followingNode(() => Promise.withResolvers<void>().promise, sight)
  const refused = waitForCurrentLog(node, request(), clock)
  clock.advance(100)
  await expect(refused).rejects.toMatchObject({ code: "unavailable", id })
  // A log that is available again responds.
  await waitForCurrentLog(
    followingNode(() => Promise.resolve(), sight),
    request(),
    clock,
  )
})
