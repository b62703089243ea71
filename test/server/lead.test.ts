// What a node waits for before it answers.
import { expect, test } from "vitest"
import { manualClock } from "../../src/kernel/clock.ts"
import { confirmed } from "../../src/server/node/lead.ts"
import type { Node } from "../../src/store/index.ts"

const follows = (caughtUp: Node["caughtUp"]) => {
  // Reason for the cast: nothing else of a node is asked.
  return { node: { caughtUp } as Node }
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

test("who waits for five seconds is told, and a request waits once", async () => {
  const clock = manualClock(0)
  let asked = 0
  const node = follows(() => {
    asked++
    return asked === 1 ? Promise.withResolvers<void>().promise : Promise.resolve()
  })
  const waiting = confirmed(node, request(), clock)
  clock.advance(5000)
  await expect(waiting).rejects.toMatchObject({ code: "unavailable", id: "store.log_unseen" })
  expect(clock.pending()).toBe(0)
  const same = request()
  await confirmed(node, same, clock)
  await confirmed(node, same, clock)
  expect(asked).toBe(2)
})
