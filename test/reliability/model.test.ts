import { expect, test } from "vitest"
import { runModel } from "./model/model.ts"

const steps = 10_000
const callers = 16

test("what 16 callers change at random, 10,000 times, is what a plain model says", async () => {
  const seed = Math.floor(Math.random() * 1_000_000)
  const { complaints, calls } = await runModel(steps, callers, seed)
  expect(complaints).toEqual([])
  expect(calls).toBeGreaterThanOrEqual(2 * steps)
}, 240_000)
