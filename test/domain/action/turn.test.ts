// Organisations share a few threads: those of one have their turn whatever others do.
import { beforeAll, expect, test } from "vitest"
import { newPool } from "../../../src/domain/action/script/pool.ts"
import type { Answers } from "../../../src/domain/action/script/thread.ts"
import type { Outcome } from "../../../src/domain/action/script/wire.ts"
import { systemClock } from "../../../src/kernel/clock.ts"

const pool = newPool()
const input = { shape: "token", data: { claims: { sub: "pat" }, clientId: "client" } } as const

/** Something slow elsewhere, which a script waits for and keeps its thread. */
const slow: Answers = {
  fetch: () =>
    new Promise((resolve) => systemClock.after(300, () => resolve({ status: 200, body: "" }))),
}
const run = (whose: string, script: string, answers: Answers = {}) =>
  pool.run({
    job: { name: "f", script, input, timeoutMs: 3000, workMs: 500, pagesMax: 512 },
    ...{ answers, whose },
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
  const begun = performance.now()
  expect(await run("globex", harmless)).toMatchObject(done)
  expect(performance.now() - begun).toBeLessThan(1500)
  await Promise.all(theirs)
})

test("one that has very many waiting takes the room of nobody else", async () => {
  const theirs = many(110, "acme")
  const turnedAway = await Promise.race([theirs.at(-1), run("acme", asking, slow)])
  expect(turnedAway?.failed?.words).toBe("too many scripts wait")
  expect(await run("globex", harmless)).toMatchObject(done)
  await Promise.all(theirs)
})
