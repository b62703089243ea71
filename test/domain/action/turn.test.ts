// Organizations share a few threads; each gets its share whatever others run.
import { beforeAll, beforeEach, expect, test } from "vitest"
import type { Outcome } from "../../../src/domain/action/script/messages.ts"
import { createPool } from "../../../src/domain/action/script/pool.ts"
import type { RequestHandlers } from "../../../src/domain/action/script/thread.ts"
import { until } from "../../support/wait.ts"

const pool = createPool()
const input = { shape: "token", data: { claims: { sub: "pat" }, clientId: "client" } } as const

/** What the scripts that wait for another resourcewhere wait for, and keep their threads. */
let waiting: (() => void)[] = []
let isOpen = false
const slowAnswers: RequestHandlers = {
  fetch: async () => {
    if (!isOpen) await new Promise<void>((resolve) => waiting.push(resolve))
    return { status: 200, body: "" }
  },
}
/** Lets all waiting scripts continue, and later ones, too. */
function releaseAll(): void {
  isOpen = true
  for (const go of waiting) go()
}
beforeEach(() => {
  waiting = []
  isOpen = false
})

const runScript = (owner: string, script: string, answers: RequestHandlers = {}) =>
  pool.run({
    job: { name: "f", script, input, timeoutMs: 120_000, workMs: 500, pagesMax: 512 },
    answers,
    owner,
  })
const fetchScript = "function f() { require('core/http').fetch('https://slow.example.com') }"
const harmlessScript = "function f(ctx, api) { api.v1.claims.setClaim('a', 1) }"
const doneOutcome: Partial<Outcome> = { effects: [["claim", "a", 1]] }

const runMany = (count: number, owner: string) =>
  Array.from({ length: count }, () => runScript(owner, fetchScript, slowAnswers))

beforeAll(async () => {
  await runScript("acme", harmlessScript)
})

test("two organizations with many waiting scripts don't come before one that runs nothing", async () => {
  const theirs = [...runMany(30, "acme"), ...runMany(30, "initech")]
  await until(() => waiting.length === 4)
  const ours = runScript("globex", harmlessScript)
  waiting.shift()?.()
  await Promise.race(theirs)
  // The free thread is reserved for organizations without a running script.
  expect(await ours).toMatchObject(doneOutcome)
  releaseAll()
  await Promise.all(theirs)
})

test("an organization with very many waiting scripts takes no capacity from others", async () => {
  const theirs = runMany(110, "acme")
  const turnedAway = await Promise.race([
    theirs.at(-1),
    runScript("acme", fetchScript, slowAnswers),
  ])
  expect(turnedAway?.failed?.words).toBe("too many scripts are waiting")
  expect(await runScript("globex", harmlessScript)).toMatchObject(doneOutcome)
  releaseAll()
  await Promise.all(theirs)
})
