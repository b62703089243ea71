// One-time uses that are not events: nodes record them next to the log.
import { describe, expect, test } from "vitest"
import { systemClock } from "../../src/kernel/clock.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { createSpender } from "../../src/store/shared/node.ts"
import { needs } from "../support/prerequisite.ts"
import { loopTurns } from "../support/wait.ts"
import { modules } from "./account.ts"
import { testNodes } from "./node.ts"

test("pending uses are sent in batches, and not blocked by a failed one", async () => {
  const sent: number[] = []
  let isAway = false
  const spend = createSpender(
    {
      spendOnce: async (uses) => {
        sent.push(uses.length)
        await loopTurns(2)
        if (isAway) throw new Fault("unavailable", "store.away", "away")
        return uses.map(({ what }) => what !== "2")
      },
    },
    systemClock,
  )
  const many = () => Promise.allSettled(Array.from({ length: 950 }, (_, at) => spend(`${at}`, 0)))
  const wons = (all: Awaited<ReturnType<typeof many>>) =>
    all.map((each) => each.status === "fulfilled" && each.value)
  const first = many()
  await loopTurns(1)
  const late = spend("late", 0)
  expect(wons(await first).flatMap((isFirst, at) => (isFirst ? [] : [at]))).toEqual([2])
  expect(await late).toBe(true)
  isAway = true
  expect(wons(await many()).filter(Boolean)).toEqual([])
  isAway = false
  expect(await spend("again", 0)).toBe(true)
  expect(sent).toEqual([200, 200, 200, 200, 150, 1, 200, 1])
})

describe.runIf(needs("postgres"))("nodes whose log is in PostgreSQL", () => {
  const { node, asked } = testNodes(modules)

  test("a one-time use is accepted once across nodes", async () => {
    const [one, two] = [await node(), await node()]
    const asked = Array.from({ length: 30 }, (_, at) => (at % 2 ? one : two).node)
    const until = Date.now() + 60_000
    const firsts = await Promise.all(asked.map((each, at) => each?.spendOnce(`${at % 5}`, until)))
    expect(firsts.filter(Boolean)).toHaveLength(5)
    expect(await two.node?.spendOnce("3", until)).toBe(false)
    // Expired uses are deleted, but not before slightly different clocks agree.
    expect(await one.node?.spendOnce("old", Date.now() - 3_600_000)).toBe(true)
    expect(await two.node?.spendOnce("old", until)).toBe(true)
  })

  test("thousands of uses on two nodes at once are accepted once each", async () => {
    const nodes = [(await node()).node, (await node()).node]
    const until = Date.now() + 60_000
    const uses = Array.from({ length: 2000 }, (_, at) => `${at % 1500}`)
    const firsts = await Promise.all(
      nodes.flatMap((each) => uses.map((use) => each?.spendOnce(use, until))),
    )
    expect(firsts.filter(Boolean)).toHaveLength(1500)
    expect(await asked("SELECT what FROM latchkey.used")).toHaveLength(1500)
  })
})
