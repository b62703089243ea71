import { expect, test } from "vitest"
import { runModel } from "./model/model.ts"

const steps = 10_000
const callers = 16

test("10,000 random changes of 16 callers match a simple model", async () => {
  const seed = Math.floor(Math.random() * 1_000_000)
  const { complaints, calls } = await runModel(steps, callers, seed)
  expect(complaints).toEqual([])
  expect(calls).toBeGreaterThanOrEqual(2 * steps)
}, 240_000)
