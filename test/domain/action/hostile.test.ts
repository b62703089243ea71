// Malicious scripts: each ends in time and affects only itself.
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createFetch } from "../../../src/domain/action/run/fetch.ts"
import type { Outcome, ScriptJob } from "../../../src/domain/action/script/messages.ts"
import { createPool } from "../../../src/domain/action/script/pool.ts"
import type { RequestHandlers } from "../../../src/domain/action/script/thread.ts"
import { systemClock } from "../../../src/kernel/clock.ts"
import { createOutbound } from "../../../src/notify/outbound.ts"
import { openProvider, type Provider } from "../../oauth/provider.ts"
import { run as runProcess } from "../../support/latchkey.ts"
import { unreachableOutside } from "../../support/outside.ts"

const pool = createPool()
const data = { claims: { sub: "pat" }, clientId: "client" }

const runScript = (
  script: string,
  more: Partial<ScriptJob> = {},
  answers: RequestHandlers = {},
  owner = "acme",
) =>
  pool.run({
    job: {
      name: "f",
      script,
      input: { shape: "token", data },
      // The CPU limit ends it; the wall-clock limit is long, for busy machines.
      timeoutMs: 60_000,
      workMs: 200,
      pagesMax: 512,
      ...more,
    },
    answers,
    owner,
  })
const harmlessScript = "function f(ctx, api) { api.v1.claims.setClaim('a', 1) }"
const doneOutcome: Partial<Outcome> = { effects: [["claim", "a", 1]] }

beforeAll(async () => {
  await runScript(harmlessScript)
})

const outOfTime = /used more than \d+ ms of CPU time|took longer/
const outOfMemory = /out of memory|string too long/

describe("ends with a reason:", () => {
  test.each([
    ["an endless loop", "function f() { for (;;); }", outOfTime],
    [
      "one that catches what stops it",
      "function f() { for (;;) try { for (;;); } catch {} }",
      outOfTime,
    ],
    ["one before any function is called", "for (;;);", outOfTime],
    ["endless promises", "async function f() { for (;;) await 0 }", outOfTime],
    [
      "a promise that never ends",
      "const f = () => new Promise(() => {})",
      /a promise that never settles/,
    ],
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
      /modified the functions that return its result/,
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
    // The memory limit ends it, however slow the machine is.
    const { failed } = await runScript(script, words === outOfMemory ? { workMs: 3000 } : {})
    expect(failed?.words).toMatch(words)
    expect(performance.now() - begun).toBeLessThan(20_000)
    expect(await runScript(harmlessScript)).toMatchObject(doneOutcome)
  })
})

test("its global changes do not outlive it", async () => {
  await runScript(
    "function f() { Object.prototype.polluted = 1; globalThis.seen = 1; JSON.parse = 0 }",
  )
  const looking = `function f(ctx, api) {
    api.v1.claims.setClaim("a", [typeof seen, ({}).polluted === undefined, typeof JSON.parse])
  }`
  expect((await runScript(looking)).effects).toEqual([
    ["claim", "a", ["undefined", true, "function"]],
  ])
})

test("random numbers differ in each run and call", async () => {
  const script = `function f(ctx, api) {
    api.v1.claims.setClaim("a", Array.from({ length: 300 }, () => Math.random()))
  }`
  const seen: unknown[] = []
  for (let count = 0; count < 5; count++) {
    const { effects = [] } = await runScript(script)
    const numbers = effects[0]?.[2]
    if (Array.isArray(numbers)) seen.push(...numbers)
  }
  expect(new Set(seen).size).toBe(1500)
  expect(seen.every((each) => typeof each === "number" && each >= 0 && each < 1)).toBe(true)
})

test("it has no access to the process", async () => {
  const names = ["process", "Bun", "fetch", "WebAssembly", "Worker", "setTimeout", "os", "std"]
  const looking = `function f(ctx, api) {
    const root = f.constructor("return this")()
    api.v1.claims.setClaim("a", ${JSON.stringify(names)}.filter((name) => name in root))
  }`
  expect((await runScript(looking)).effects).toEqual([["claim", "a", []]])
})

test("10 MB of logs are truncated", async () => {
  const script = "const f = () => { for (let i = 0; i < 1000; i++) log('x'.repeat(10000)) }"
  const { logs } = await runScript(`const { log } = require("core/log"); ${script}`, {
    workMs: 3000,
  })
  expect(logs.length).toBe(101)
  expect(JSON.stringify(logs).length).toBeLessThan(200_000)
  expect(logs.at(-1)?.text).toBe("further lines were omitted")
})

test("log lines have the expected format, whatever the script does", async () => {
  const script = `function f() {
    let line
    JSON.stringify = () => line
    for (const each of ['{"level":"' + "x".repeat(1e6) + '","text":"a"}', '{"text":["b"]}', "5"]) {
      line = each
      require("core/log").log("")
    }
    line = "[]"
  }`
  const { logs } = await runScript(script)
  expect(logs).toEqual([
    { level: "log", text: "a" },
    { level: "log", text: "b" },
    { level: "log", text: "undefined" },
  ])
})

describe("malformed requests of a script", () => {
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
    const outcome = await runScript(script, {}, { fetch: () => ({}) })
    expect(outcome.failed?.words).toContain("modified the function for requests")
    expect(await runScript(harmlessScript)).toMatchObject(doneOutcome)
  })
})

test("a late response is not delivered to another script", async () => {
  const late = Promise.withResolvers<object>()
  const asking = "require('core/http').fetch('https://a.example').body"
  const first = runScript(
    `const f = () => ${asking}`,
    { timeoutMs: 600 },
    { fetch: () => late.promise },
  )
  expect((await first).failed?.words).toMatch(/in time|took longer/)
  // The next script reads in parts: the rest must belong to its own response.
  const mine = { body: "m".repeat(300_000) }
  const answers: RequestHandlers = {
    fetch: () => {
      setImmediate(() => late.resolve({ body: "t".repeat(300_000) }))
      return mine
    },
  }
  const script = `function f(ctx, api) { api.v1.claims.setClaim("a", /^m+$/.test(${asking})) }`
  expect((await runScript(script, {}, answers)).effects).toEqual([["claim", "a", true]])
})

test("a script can't set connection headers, in any spelling", async () => {
  const provider = await openProvider()
  const sent: unknown[] = []
  const send = async (request: unknown) => {
    sent.push(request)
    return { status: 200, body: "" }
  }
  const fetching = createFetch(provider.cx({ outside: { ...unreachableOutside, send } }))
  const script = `const f = () => {
    String.prototype.toLowerCase = function () { return String(this) }
    const headers = { "Content-Length": "1", "Transfer-Encoding": "chunked", HOST: "b", "X-A": "1" }
    require("core/http").fetch("https://a.example", { headers })
  }`
  await runScript(script, {}, { fetch: fetching })
  await provider.close()
  expect(sent).toEqual([expect.objectContaining({ headers: { "x-a": "1" } })])
})

/** Each is a single call for the engine, which does not check for interruption meanwhile. */
test.each([
  ["joins an array without end", "const f = () => new Array(4e9).join('')"],
  ["looks through one", "const f = () => { const a = []; a.length = 2 ** 32 - 1; a.reverse() }"],
  [
    "searches what only says it is long",
    "const f = () => [].indexOf.call({ length: 4294967295 }, 9)",
  ],
  ["puts marks in order", "const f = () => '\\u0315\\u0300'.repeat(1e6).normalize('NFD').length"],
])("a script that %s leaves its thread immediately when it is ended", async (_, script) => {
  expect(await runAlone("rest", script)).toEqual({ code: 0, output: "bounds\n" })
})

test("memory is released", async () => {
  const bomb = "function f() { const a = []; for (;;) a.push('x'.repeat(1e5) + a.length) }"
  const { code, output } = await runAlone("memory", bomb)
  expect([code, output]).toEqual([0, expect.stringMatching(/^-?\d+\n$/)])
  expect(Number(output)).toBeLessThan(100_000_000)
})

/** Test files that run concurrently share the process and its memory. */
const runAlone = (mode: "rest" | "memory", script: string) =>
  runProcess([join(import.meta.dirname, "alone.ts"), mode, script], { program: process.execPath })

test("a script without a response receives an error, and others continue", async () => {
  const answers: RequestHandlers = { fetch: () => new Promise(() => {}) }
  const waiting = "const f = () => require('core/http').fetch('https://slow.example.com')"
  const slow = [1, 2, 3].map(() => runScript(waiting, { timeoutMs: 10_000 }, answers))
  const first = Promise.race(slow.map((each) => each.then(() => "one that waits")))
  const other = runScript(harmlessScript, {}, {}, "globex")
  expect(await Promise.race([first, other])).toMatchObject(doneOutcome)
  for (const each of slow)
    expect((await each).failed?.words).toMatch(
      /in time|took longer|waited too long for other scripts/,
    )
})

describe("a fetch of a forbidden address", () => {
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
    ["file:///etc/passwd", /must start with https:/],
    ["https://id.example.com/oauth/v2/token", /can't call the server that it runs on/],
    ["https://ID.example.com./oauth/v2/token", /can't call the server that it runs on/],
  ])("%s", async (url, words) => {
    const never = (() => Promise.reject(new Error("something was sent"))) as never
    const send = createOutbound({
      clock: systemClock,
      allow: [],
      send: never,
      resolve: async () => ["10.0.0.5"],
    })
    const fetching = createFetch(provider.cx({ outside: { ...unreachableOutside, send } }))
    const script = `const f = (ctx, api) => {
      try { require("core/http").fetch(${JSON.stringify(url)}) }
      catch (error) { api.v1.claims.setClaim("a", error.message) }
    }`
    const { effects = [] } = await runScript(script, {}, { fetch: fetching })
    expect(effects[0]?.[2]).toMatch(words)
  })
})

test("one run can send at most fifty requests", async () => {
  const asked: unknown[] = []
  const script = `function f() {
    for (;;) try { require("core/http").fetch("https://a.example/") } catch (e) { throw e }
  }`
  const { failed } = await runScript(script, {}, { fetch: (value) => ({ at: asked.push(value) }) })
  expect(failed?.words).toMatch(/at most 50 requests/)
  expect(asked).toHaveLength(50)
})

test("a request of more than a million characters is rejected", async () => {
  const asked: unknown[] = []
  const script =
    "const f = () => require('core/http').fetch('https://a.example/', { body: 'x'.repeat(2e6) })"
  const { failed } = await runScript(script, {}, { fetch: (value) => void asked.push(value) })
  expect(failed?.words).toMatch(/at most 1000000 characters/)
  expect(asked).toEqual([])
})
