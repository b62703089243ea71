// What a node waits for before it answers.
import { expect, test } from "vitest"
import { manualClock } from "../../src/kernel/clock.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { confirmed } from "../../src/server/node/lead.ts"
import type { Node } from "../../src/store/index.ts"

const follows = (
  caughtUp: Node["caughtUp"],
  sight: Partial<Pick<Node, "lost" | "unseen">> = {},
) => {
  const sees = { lost: () => undefined, unseen: () => 0, ...sight }
  // Reason for the cast: nothing else of a node is asked.
  return { node: { caughtUp, ...sees } as Node }
}
const request = () => ({ headers: new Headers() })

test("a request that was answered leaves no timer", async () => {
  const clock = manualClock(0)
  const node = follows(() => Promise.resolve())
  for (let round = 0; round < 100; round++) await confirmed(node, request(), clock)
  expect(clock.pending()).toBe(0)
  const broken = follows(() => Promise.reject(new Error("no way")))
  await expect(confirmed(broken, request(), clock)).rejects.toThrow("no way")
  expect(clock.pending()).toBe(0)
})

test("who waits for four seconds is told, and a request waits once", async () => {
  const clock = manualClock(0)
  let asked = 0
  const node = follows(() => {
    asked++
    return asked === 1 ? Promise.withResolvers<void>().promise : Promise.resolve()
  })
  const waiting = confirmed(node, request(), clock)
  clock.advance(4000)
  await expect(waiting).rejects.toMatchObject({ code: "unavailable", id: "store.log_unseen" })
  expect(clock.pending()).toBe(0)
  const same = request()
  await confirmed(node, same, clock)
  await confirmed(node, same, clock)
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
])("where the log %s a request is refused at once", async (_, sight, id) => {
  const clock = manualClock(0)
  const node = follows(() => Promise.withResolvers<void>().promise, sight)
  const refused = confirmed(node, request(), clock)
  clock.advance(100)
  await expect(refused).rejects.toMatchObject({ code: "unavailable", id })
  // A log that is back answers.
  await confirmed(
    follows(() => Promise.resolve(), sight),
    request(),
    clock,
  )
})
