import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { temporaryFolder } from "../support/latchkey.ts"
import { type KillLoop, killLoop } from "./kill-loop/loop.ts"

const rounds = 20

describe(`killed ${rounds} times under load (R-01)`, () => {
  const folder = temporaryFolder()
  let outcome: KillLoop
  beforeAll(async () => {
    outcome = await killLoop(folder.path, rounds)
  }, 120_000)
  afterAll(() => folder.remove())

  test("it was under load, and some requests were cut off", () => {
    expect(outcome.acknowledged).toBeGreaterThan(rounds * 50)
    expect(outcome.unanswered).toBeGreaterThan(rounds)
  })

  test("what was acknowledged is there, the rest wholly or not at all", () => {
    expect(outcome.complaints).toEqual([])
  })

  test("it is ready again in less than two seconds each time", () => {
    expect(outcome.readyMs).toHaveLength(rounds)
    expect(Math.max(...outcome.readyMs)).toBeLessThan(2000)
  })
})
