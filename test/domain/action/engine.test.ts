// One engine runs script after script: each starts in the same state as the first.
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import release from "@jitl/quickjs-wasmfile-release-sync"
import { beforeAll, describe, expect, test } from "vitest"
import { outOfIterations, withLoopLimit } from "../../../src/domain/action/script/loop-limit.ts"
import type { ScriptJob } from "../../../src/domain/action/script/messages.ts"
import {
  createEngine,
  createMemory,
  type Engine,
} from "../../../src/domain/action/script/sandbox.ts"

const file = createRequire(import.meta.url).resolve("@jitl/quickjs-wasmfile-release-sync/wasm")
const bytes = readFileSync(file)
const secret = "what-only-this-run-may-know"
let wasmModule: WebAssembly.Module
beforeAll(async () => {
  wasmModule = await WebAssembly.compile(withLoopLimit(bytes))
})

type EngineInstance = { readonly engine: Engine; readonly memory: WebAssembly.Memory }

async function createTestEngine(): Promise<EngineInstance> {
  const memory = createMemory(512)
  return { engine: await createEngine({ variant: release, wasmModule, memory }), memory }
}

// Only the memory is restored; a second global would have to be restored as well.
test("an engine's only state besides memory is a stack pointer", () => {
  const globals = sectionOf(bytes, 6)
  const [count, type, isMutable] = globals
  expect({ count, type, isMutable }).toEqual({ count: 1, type: 0x7f, isMutable: 1 })
})

/** A section of a WebAssembly file, by number. */
function sectionOf(module: Uint8Array, options: number): Uint8Array {
  for (let at = 8; at < module.length; ) {
    const id = module[at++]
    let [size, shift, part] = [0, 0, 0x80]
    for (; part >= 0x80; shift += 7) {
      part = module[at++] ?? 0
      size |= (part & 0x7f) << shift
    }
    if (id === options) return module.subarray(at, at + size)
    at += size
  }
  throw new Error(`there is no section ${options}`)
}

const job = (script: string): ScriptJob => ({
  name: "f",
  script,
  input: { shape: "token", data: { secret } },
  timeoutMs: 4000,
  workMs: 200,
  pagesMax: 512,
})
const neverInterrupt = () => undefined
const memoryHash = ({ buffer }: WebAssembly.Memory) =>
  createHash("sha256").update(new Uint8Array(buffer)).digest("hex")
const containsText = ({ buffer }: WebAssembly.Memory, text: string) =>
  Buffer.from(buffer).includes(text)

describe("an engine is in its initial state after", () => {
  test.each([
    ["a run", "function f(ctx, api) { api.v1.claims.setClaim('a', 1) }"],
    ["one that fails", "function f() { throw new Error('no') }"],
    // Some of it remains, whatever is overwritten at the end.
    ["one that is no script", `function f( { ${`"${secret}" `.repeat(100)}`],
    ["one that leaves promises", "function f() { Promise.resolve().then(() => { later() }) }"],
    ["one that waits for ever", "const f = () => new Promise(() => {})"],
    [
      "one that fills what it has, and changes its world",
      `globalThis.kept = Array.from({ length: 20_000 }, (_, i) => "${secret}" + i)
       Array.prototype.push = 0; JSON.parse = 0; Math.random = 0
       function f() { Object.freeze(globalThis) }`,
    ],
  ])("%s", async (_, script) => {
    const { engine, memory } = await createTestEngine()
    const asNew = memoryHash(memory)
    for (let count = 0; count < 3; count++) {
      engine.run(job(script), () => "null", neverInterrupt)
      expect(memoryHash(memory)).not.toBe(asNew)
      expect(containsText(memory, secret)).toBe(true)
      expect(engine.renew()).toBe(true)
      expect(memoryHash(memory)).toBe(asNew)
    }
    const { effects } = engine.run(
      job("function f(ctx, api) { api.v1.claims.setClaim('a', typeof kept) }"),
      () => "null",
      neverInterrupt,
    )
    expect(effects).toEqual([["claim", "a", "undefined"]])
  })
})

describe("an engine is not reused after", () => {
  test.each([
    ["what takes too long", "function f() { for (;;); }"],
    ["too deep a call", "function f() { return f() + 1 }"],
    ["what takes more memory than it began with", "const f = () => 'x'.repeat(1.5e7).length"],
    ["what takes more than there is", "const f = () => new Uint8Array(2e9)"],
  ])("%s", async (_, script) => {
    const { engine } = await createTestEngine()
    const begun = performance.now()
    const isOver = () => (performance.now() - begun > 300 ? "it took longer" : undefined)
    engine.run(job(script), () => "null", isOver)
    expect(engine.renew()).toBe(false)
  })
})

test("a deadline applies to each run of an engine", async () => {
  const { engine } = await createTestEngine()
  engine.run(job("const f = () => 1"), () => "null", neverInterrupt)
  expect(engine.renew()).toBe(true)
  const begun = performance.now()
  const isOver = () => (performance.now() - begun > 100 ? "it took longer" : undefined)
  const { failed } = engine.run(job("function f() { for (;;); }"), () => "null", isOver)
  expect(failed).toEqual({ by: "bounds", words: "it took longer" })
})

test("an uninterrupted call ends after its iteration limit", async () => {
  const { engine } = await createTestEngine()
  const endless = job("const f = () => new Array(4e9).join('')")
  expect(engine.run(endless, () => "null", neverInterrupt).failed).toEqual({
    by: "bounds",
    words: outOfIterations,
  })
  expect(engine.renew()).toBe(false)
})

test("one call can run many iterations", async () => {
  const { engine } = await createTestEngine()
  const long = job("const f = () => { for (let i = 0; i < 30; i++) 'x'.repeat(1e6).indexOf('y') }")
  expect(engine.run(long, () => "null", neverInterrupt).failed).toBeUndefined()
})

test("all loops of an engine are metered, and nothing else changes", () => {
  const again = withLoopLimit(bytes)
  expect(WebAssembly.validate(again)).toBe(true)
  // Metering an engine twice adds the loops of the first time only.
  const added = again.length - bytes.length
  const twice = withLoopLimit(again).length - again.length
  expect(added).toBeGreaterThan(20_000)
  expect(Math.abs(twice - added)).toBeLessThan(2000)
  for (const section of [1, 2, 3, 4, 6, 7, 9, 11]) {
    const before = Buffer.from(sectionOf(bytes, section))
    expect(Buffer.from(sectionOf(again, section)).equals(before)).toBe(true)
  }
})

test("rejects an unknown instruction", () => {
  const body = [0, 0xfd, 0x0c, 0x0b]
  const code = [10, body.length + 2, 1, body.length, ...body]
  expect(() => withLoopLimit(Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...code]))).toThrow(
    "contains an unknown instruction: 253",
  )
})
