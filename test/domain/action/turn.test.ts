// Organisations share a few threads: those of one have their turn whatever others do.
import { beforeAll, beforeEach, expect, test } from "vitest"
import { newPool } from "../../../src/domain/action/script/pool.ts"
import type { Answers } from "../../../src/domain/action/script/thread.ts"
import type { Outcome } from "../../../src/domain/action/script/wire.ts"
import { until } from "../../support/wait.ts"

const pool = newPool()
const input = { shape: "token", data: { claims: { sub: "pat" }, clientId: "client" } } as const

/** What the scripts that wait for something elsewhere wait for, and keep their threads. */
let waiting: (() => void)[] = []
let isOpen = false
const slow: Answers = {
  fetch: async () => {
    if (!isOpen) await new Promise<void>((resolve) => waiting.push(resolve))
    return { status: 200, body: "" }
  },
}
/** Lets all of them go on, and those that come to it later. */
function open(): void {
  isOpen = true
  for (const go of waiting) go()
}
beforeEach(() => {
  waiting = []
  isOpen = false
})

const run = (whose: string, script: string, answers: Answers = {}) =>
  pool.run({
    job: { name: "f", script, input, timeoutMs: 120_000, workMs: 500, pagesMax: 512 },
    answers,
    whose,
  })
const asking = "function f() { require('core/http').fetch('https://slow.example.com') }"
const harmless = "function f(ctx, api) { api.v1.claims.setClaim('a', 1) }"
const done: Partial<Outcome> = { effects: [["claim", "a", 1]] }

const many = (count: number, whose: string) =>
  Array.from({ length: count }, () => run(whose, asking, slow))

beforeAll(async () => {
  await run("acme", harmless)
})

test("two that have many waiting don't come before one that has nothing running", async () => {
  const theirs = [...many(30, "acme"), ...many(30, "initech")]
  await until(() => waiting.length === 4)
  const ours = run("globex", harmless)
  waiting.shift()?.()
  await Promise.race(theirs)
  // The thread that is free is for whoever has none, so that nobody else's is needed.
  expect(await ours).toMatchObject(done)
  open()
  await Promise.all(theirs)
})

test("one that has very many waiting takes the room of nobody else", async () => {
  const theirs = many(110, "acme")
  const turnedAway = await Promise.race([theirs.at(-1), run("acme", asking, slow)])
  expect(turnedAway?.failed?.words).toBe("too many scripts wait")
  expect(await run("globex", harmless)).toMatchObject(done)
  open()
  await Promise.all(theirs)
})
