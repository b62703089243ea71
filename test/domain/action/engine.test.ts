// One engine runs script after script: each finds it as the first has.
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import release from "@jitl/quickjs-wasmfile-release-sync"
import { beforeAll, describe, expect, test } from "vitest"
import { metered, outOfIterations } from "../../../src/domain/action/script/metered.ts"
import { type Engine, newEngine, newMemory } from "../../../src/domain/action/script/sandbox.ts"
import type { Job } from "../../../src/domain/action/script/wire.ts"

const file = createRequire(import.meta.url).resolve("@jitl/quickjs-wasmfile-release-sync/wasm")
const bytes = readFileSync(file)
const secret = "what-only-this-run-may-know"
let wasmModule: WebAssembly.Module
beforeAll(async () => {
  wasmModule = await WebAssembly.compile(metered(bytes))
})

type Made = { readonly engine: Engine; readonly memory: WebAssembly.Memory }

async function make(): Promise<Made> {
  const memory = newMemory(512)
  return { engine: await newEngine({ variant: release, wasmModule, memory }), memory }
}

// What is put back is the memory; a second global would have to be as well.
test("beside its memory an engine has a stack pointer, and that is all", () => {
  const globals = sectionOf(bytes, 6)
  const [count, type, isMutable] = globals
  expect({ count, type, isMutable }).toEqual({ count: 1, type: 0x7f, isMutable: 1 })
})

/** A section of a WebAssembly file, by its number. */
function sectionOf(module: Uint8Array, wanted: number): Uint8Array {
  for (let at = 8; at < module.length; ) {
    const id = module[at++]
    let [size, shift, part] = [0, 0, 0x80]
    for (; part >= 0x80; shift += 7) {
      part = module[at++] ?? 0
      size |= (part & 0x7f) << shift
    }
    if (id === wanted) return module.subarray(at, at + size)
    at += size
  }
  throw new Error(`there is no section ${wanted}`)
}

const job = (script: string): Job => ({
  name: "f",
  script,
  input: { shape: "token", data: { secret } },
  timeoutMs: 4000,
  workMs: 200,
  pagesMax: 512,
})
const never = () => undefined
const contentOf = ({ buffer }: WebAssembly.Memory) =>
  createHash("sha256").update(new Uint8Array(buffer)).digest("hex")
const holds = ({ buffer }: WebAssembly.Memory, text: string) => Buffer.from(buffer).includes(text)

describe("an engine is as new after", () => {
  test.each([
    ["a run", "function f(ctx, api) { api.v1.claims.setClaim('a', 1) }"],
    ["one that fails", "function f() { throw new Error('no') }"],
    // Whatever of it is overwritten when it ends, some is left.
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
    const { engine, memory } = await make()
    const asNew = contentOf(memory)
    for (let count = 0; count < 3; count++) {
      engine.run(job(script), () => "null", never)
      expect(contentOf(memory)).not.toBe(asNew)
      expect(holds(memory, secret)).toBe(true)
      expect(engine.renew()).toBe(true)
      expect(contentOf(memory)).toBe(asNew)
    }
    const { effects } = engine.run(
      job("function f(ctx, api) { api.v1.claims.setClaim('a', typeof kept) }"),
      () => "null",
      never,
    )
    expect(effects).toEqual([["claim", "a", "undefined"]])
  })
})

describe("an engine is not used again after", () => {
  test.each([
    ["what takes too long", "function f() { for (;;); }"],
    ["too deep a call", "function f() { return f() + 1 }"],
    ["what takes more memory than it began with", "const f = () => 'x'.repeat(1.5e7).length"],
    ["what takes more than there is", "const f = () => new Uint8Array(2e9)"],
  ])("%s", async (_, script) => {
    const { engine } = await make()
    const begun = performance.now()
    const isOver = () => (performance.now() - begun > 300 ? "it took longer" : undefined)
    engine.run(job(script), () => "null", isOver)
    expect(engine.renew()).toBe(false)
  })
})

test("a deadline holds in each run of an engine", async () => {
  const { engine } = await make()
  engine.run(job("const f = () => 1"), () => "null", never)
  expect(engine.renew()).toBe(true)
  const begun = performance.now()
  const isOver = () => (performance.now() - begun > 100 ? "it took longer" : undefined)
  const { failed } = engine.run(job("function f() { for (;;); }"), () => "null", isOver)
  expect(failed).toEqual({ by: "bounds", words: "it took longer" })
})

test("a call that nothing interrupts ends after its iterations", async () => {
  const { engine } = await make()
  const endless = job("const f = () => new Array(4e9).join('')")
  expect(engine.run(endless, () => "null", never).failed).toEqual({
    by: "bounds",
    words: outOfIterations,
  })
  expect(engine.renew()).toBe(false)
})

test("many iterations in one call are permitted", async () => {
  const { engine } = await make()
  const long = job("const f = () => { for (let i = 0; i < 30; i++) 'x'.repeat(1e6).indexOf('y') }")
  expect(engine.run(long, () => "null", never).failed).toBeUndefined()
})

test("all loops of an engine are counted, and nothing else is changed", () => {
  const again = metered(bytes)
  expect(WebAssembly.validate(again)).toBe(true)
  // An engine that is metered twice has the loops of the first time, and no more.
  const added = again.length - bytes.length
  const twice = metered(again).length - again.length
  expect(added).toBeGreaterThan(20_000)
  expect(Math.abs(twice - added)).toBeLessThan(2000)
  for (const section of [1, 2, 3, 4, 6, 7, 9, 11]) {
    const before = Buffer.from(sectionOf(bytes, section))
    expect(Buffer.from(sectionOf(again, section)).equals(before)).toBe(true)
  }
})

test("an instruction that is not known is refused, not passed over", () => {
  const body = [0, 0xfd, 0x0c, 0x0b]
  const code = [10, body.length + 2, 1, body.length, ...body]
  expect(() => metered(Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...code]))).toThrow(
    "not known here: 253",
  )
})
