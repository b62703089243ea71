// Scripts that mean harm: each ends in time, and harms nobody but itself.
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { fetchFor } from "../../../src/domain/action/run/fetch.ts"
import { newPool } from "../../../src/domain/action/script/pool.ts"
import type { Answers } from "../../../src/domain/action/script/thread.ts"
import type { Job, Outcome } from "../../../src/domain/action/script/wire.ts"
import { systemClock } from "../../../src/kernel/clock.ts"
import { outboundOf } from "../../../src/notify/outbound.ts"
import { openProvider, type Provider } from "../../oauth/provider.ts"
import { run as runProcess } from "../../support/latchkey.ts"
import { nowhere } from "../../support/outside.ts"

const pool = newPool()
const data = { claims: { sub: "pat" }, clientId: "client" }

const run = (script: string, more: Partial<Job> = {}, answers: Answers = {}, whose = "acme") =>
  pool.run({
    job: {
      name: "f",
      script,
      input: { shape: "token", data },
      // What it computes ends it; a busy machine is no reason.
      timeoutMs: 60_000,
      workMs: 200,
      pagesMax: 512,
      ...more,
    },
    answers,
    whose,
  })
const harmless = "function f(ctx, api) { api.v1.claims.setClaim('a', 1) }"
const done: Partial<Outcome> = { effects: [["claim", "a", 1]] }

beforeAll(async () => {
  await run(harmless)
})

const outOfTime = /worked for more than|took longer/
const outOfMemory = /out of memory|string too long/

describe("ends, and says why:", () => {
  test.each([
    ["an endless loop", "function f() { for (;;); }", outOfTime],
    [
      "one that catches what stops it",
      "function f() { for (;;) try { for (;;); } catch {} }",
      outOfTime,
    ],
    ["one before any function is called", "for (;;);", outOfTime],
    ["endless promises", "async function f() { for (;;) await 0 }", outOfTime],
    ["a promise that never ends", "const f = () => new Promise(() => {})", /nothing will fulfil/],
    ["a pattern bomb", "const f = () => /^(a+)+$/.test('a'.repeat(40) + 'b')", outOfTime],
    [
      "a memory bomb",
      "function f() { const a = []; for (;;) a.push('x'.repeat(1e5) + a.length) }",
      outOfMemory,
    ],
    ["a text bomb", "function f() { let a = 'x'; for (;;) a += a }", outOfMemory],
    ["a large buffer", "const f = () => new Uint8Array(2e9).fill(1)", outOfMemory],
    ["deep recursion", "const f = () => f() + 1", /stack/],
    ["deep JSON", "const f = () => JSON.parse('['.repeat(1e6))", /stack/],
    [
      "an error that never says what it is",
      "const f = () => { throw { get message() { for (;;); } } }",
      outOfTime,
    ],
    [
      "an error with a stack of a million letters",
      "const f = () => { throw { message: 'stacked', stack: 'a'.repeat(1e6) } }",
      /stacked/,
    ],
    [
      "an answer of its own making",
      "const f = () => { JSON.stringify = () => '[[1]]' }",
      /changed/,
    ],
    ["an answer that is no JSON", "const f = () => { JSON.stringify = () => '{' }", /JSON/],
    [
      "an answer without end",
      `const f = () => { JSON.stringify = () => '[["claim","' + "x".repeat(2e6) + '"]]' }`,
      /at most 1000000 characters/,
    ],
    ["an import", "const f = () => import('node:fs')", /fs/],
    ["a module of the runtime", "const f = () => require('node:fs')", /there is no module/],
    [
      "a thousand effects and one",
      "function f(ctx, api) { for (let i = 0; i < 1001; i++) api.v1.claims.setClaim('a', i) }",
      /at most 1000/,
    ],
  ])("%s", async (_, script, words) => {
    const begun = performance.now()
    // Its memory is what ends it, however slow the machine is.
    const { failed } = await run(script, words === outOfMemory ? { workMs: 3000 } : {})
    expect(failed?.words).toMatch(words)
    expect(performance.now() - begun).toBeLessThan(20_000)
    expect(await run(harmless)).toMatchObject(done)
  })
})

test("what it does to its own world is gone with it", async () => {
  await run("function f() { Object.prototype.polluted = 1; globalThis.seen = 1; JSON.parse = 0 }")
  const looking = `function f(ctx, api) {
    api.v1.claims.setClaim("a", [typeof seen, ({}).polluted === undefined, typeof JSON.parse])
  }`
  expect((await run(looking)).effects).toEqual([["claim", "a", ["undefined", true, "function"]]])
})

test("chance is another in each run, and in each call", async () => {
  const script = `function f(ctx, api) {
    api.v1.claims.setClaim("a", Array.from({ length: 300 }, () => Math.random()))
  }`
  const seen: unknown[] = []
  for (let count = 0; count < 5; count++) {
    const { effects = [] } = await run(script)
    const numbers = effects[0]?.[2]
    if (Array.isArray(numbers)) seen.push(...numbers)
  }
  expect(new Set(seen).size).toBe(1500)
  expect(seen.every((each) => typeof each === "number" && each >= 0 && each < 1)).toBe(true)
})

test("it sees nothing of the process", async () => {
  const names = ["process", "Bun", "fetch", "WebAssembly", "Worker", "setTimeout", "os", "std"]
  const looking = `function f(ctx, api) {
    const root = f.constructor("return this")()
    api.v1.claims.setClaim("a", ${JSON.stringify(names)}.filter((name) => name in root))
  }`
  expect((await run(looking)).effects).toEqual([["claim", "a", []]])
})

test("10 MB of logs are cut", async () => {
  const script = "const f = () => { for (let i = 0; i < 1000; i++) log('x'.repeat(10000)) }"
  const { logs } = await run(`const { log } = require("core/log"); ${script}`, { workMs: 3000 })
  expect(logs.length).toBe(101)
  expect(JSON.stringify(logs).length).toBeLessThan(200_000)
  expect(logs.at(-1)?.text).toBe("more was left out")
})

test("a line of a log is what its reader expects, whatever the script makes of it", async () => {
  const script = `function f() {
    let line
    JSON.stringify = () => line
    for (const each of ['{"level":"' + "x".repeat(1e6) + '","text":"a"}', '{"text":["b"]}', "5"]) {
      line = each
      require("core/log").log("")
    }
    line = "[]"
  }`
  const { logs } = await run(script)
  expect(logs).toEqual([
    { level: "log", text: "a" },
    { level: "log", text: "b" },
    { level: "log", text: "undefined" },
  ])
})

describe("what it asks that no script asks", () => {
  test.each([
    ["is no JSON", "JSON.stringify = () => '{'; require('core/http').fetch('https://a.example')"],
    [
      "is deeper than anybody reads",
      "JSON.stringify = () => '['.repeat(5e5); require('core/http').fetch('https://a.example')",
    ],
    [
      "is not its own to ask",
      `JSON.parse = () => ({ shape: "token", data: {} })
       globalThis.f = ({ v1 }) => v1.user.getMetadata()`,
    ],
  ])("%s", async (_, body) => {
    const script = body.includes("globalThis") ? body : `const f = () => { ${body} }`
    const outcome = await run(script, {}, { fetch: () => ({}) })
    expect(outcome.failed?.words).toContain("changed what it asks with")
    expect(await run(harmless)).toMatchObject(done)
  })
})

test("an answer that comes too late is nobody else's", async () => {
  const late = Promise.withResolvers<object>()
  const asking = "require('core/http').fetch('https://a.example').body"
  const first = run(`const f = () => ${asking}`, { timeoutMs: 600 }, { fetch: () => late.promise })
  expect((await first).failed?.words).toMatch(/in time|took longer/)
  // The next one reads in parts: what is still to come is of its own answer.
  const mine = { body: "m".repeat(300_000) }
  const answers: Answers = {
    fetch: () => {
      setImmediate(() => late.resolve({ body: "t".repeat(300_000) }))
      return mine
    },
  }
  const script = `function f(ctx, api) { api.v1.claims.setClaim("a", /^m+$/.test(${asking})) }`
  expect((await run(script, {}, answers)).effects).toEqual([["claim", "a", true]])
})

test("no header of the connection is the script's, however it is spelled", async () => {
  const provider = await openProvider()
  const sent: unknown[] = []
  const send = async (request: unknown) => {
    sent.push(request)
    return { status: 200, body: "" }
  }
  const fetching = fetchFor(provider.cx({ outside: { ...nowhere, send } }))
  const script = `const f = () => {
    String.prototype.toLowerCase = function () { return String(this) }
    const headers = { "Content-Length": "1", "Transfer-Encoding": "chunked", HOST: "b", "X-A": "1" }
    require("core/http").fetch("https://a.example", { headers })
  }`
  await run(script, {}, { fetch: fetching })
  await provider.close()
  expect(sent).toEqual([expect.objectContaining({ headers: { "x-a": "1" } })])
})

/** Each is one call for the engine, which asks nobody meanwhile whether it may go on. */
test.each([
  ["joins an array without end", "const f = () => new Array(4e9).join('')"],
  ["looks through one", "const f = () => { const a = []; a.length = 2 ** 32 - 1; a.reverse() }"],
  [
    "searches what only says it is long",
    "const f = () => [].indexOf.call({ length: 4294967295 }, 9)",
  ],
  ["puts marks in order", "const f = () => '\\u0315\\u0300'.repeat(1e6).normalize('NFD').length"],
])("a script that %s leaves its thread at once when it is ended", async (_, script) => {
  expect(await alone("rest", script)).toEqual({ code: 0, output: "bounds\n" })
})

test("memory comes back", async () => {
  const bomb = "function f() { const a = []; for (;;) a.push('x'.repeat(1e5) + a.length) }"
  const { code, output } = await alone("memory", bomb)
  expect([code, output]).toEqual([0, expect.stringMatching(/^-?\d+\n$/)])
  expect(Number(output)).toBeLessThan(100_000_000)
})

/** Files that are tested at the same time compute in the same process, and use its memory. */
const alone = (mode: "rest" | "memory", script: string) =>
  runProcess([join(import.meta.dirname, "alone.ts"), mode, script], { program: process.execPath })

test("who waits for an answer that does not come is told so, and others go on", async () => {
  const answers: Answers = { fetch: () => new Promise(() => {}) }
  const waiting = "const f = () => require('core/http').fetch('https://slow.example.com')"
  const slow = [1, 2, 3].map(() => run(waiting, { timeoutMs: 3000 }, answers))
  const first = Promise.race(slow.map((each) => each.then(() => "one that waits")))
  const other = run(harmless, {}, {}, "globex")
  expect(await Promise.race([first, other])).toMatchObject(done)
  for (const each of slow)
    expect((await each).failed?.words).toMatch(/in time|took longer|before it/)
})

describe("a fetch of what is not the script's to reach", () => {
  let provider: Provider
  beforeAll(async () => {
    provider = await openProvider()
  })
  afterAll(() => provider.close())

  test.each([
    ["http://127.0.0.1:1/", /not a host on the internet/],
    ["http://[::1]/", /not a host on the internet/],
    ["http://169.254.169.254/latest/meta-data", /not a host on the internet/],
    ["http://internal.example.com/", /not a host on the internet/],
    ["http://2130706433/", /not a host on the internet/],
    ["file:///etc/passwd", /does not begin with https/],
    ["https://id.example.com/oauth/v2/token", /the service that it runs in/],
    ["https://ID.example.com./oauth/v2/token", /the service that it runs in/],
  ])("%s", async (url, words) => {
    const never = (() => Promise.reject(new Error("something was sent"))) as never
    const send = outboundOf({
      clock: systemClock,
      allow: [],
      send: never,
      resolve: async () => ["10.0.0.5"],
    })
    const fetching = fetchFor(provider.cx({ outside: { ...nowhere, send } }))
    const script = `const f = (ctx, api) => {
      try { require("core/http").fetch(${JSON.stringify(url)}) }
      catch (error) { api.v1.claims.setClaim("a", error.message) }
    }`
    const { effects = [] } = await run(script, {}, { fetch: fetching })
    expect(effects[0]?.[2]).toMatch(words)
  })
})

test("others are asked fifty times by one run, and no more", async () => {
  const asked: unknown[] = []
  const script = `function f() {
    for (;;) try { require("core/http").fetch("https://a.example/") } catch (e) { throw e }
  }`
  const { failed } = await run(script, {}, { fetch: (value) => ({ at: asked.push(value) }) })
  expect(failed?.words).toMatch(/at most 50 things/)
  expect(asked).toHaveLength(50)
})

test("a request of more than a million characters is not made", async () => {
  const asked: unknown[] = []
  const script =
    "const f = () => require('core/http').fetch('https://a.example/', { body: 'x'.repeat(2e6) })"
  const { failed } = await run(script, {}, { fetch: (value) => void asked.push(value) })
  expect(failed?.words).toMatch(/at most 1000000 characters/)
  expect(asked).toEqual([])
})
