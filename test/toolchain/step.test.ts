import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { fingerprint, isFresh, run } from "../../scripts/step.ts"

let folder = ""
const at = (path: string) => join(folder, path)
const fresh = () => isFresh(at("mark"), [at("in"), at("lock")])

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "latchkey-step-"))
  mkdirSync(at("in/dist"), { recursive: true })
  writeFileSync(at("in/a.ts"), "a")
  writeFileSync(at("in/b.ts"), "b")
  writeFileSync(at("lock"), "lock")
  writeFileSync(at("mark"), fingerprint([at("in"), at("lock")]))
})
afterEach(() => rmSync(folder, { recursive: true }))

test("what was made from the same inputs is fresh, whatever their times", () => {
  utimesSync(at("in/a.ts"), 1, 1)
  expect(fresh()).toBe(true)
})

test.each([
  ["a changed file", () => writeFileSync(at("in/a.ts"), "A")],
  ["a new file", () => writeFileSync(at("in/c.ts"), "")],
  ["a removed file", () => rmSync(at("in/b.ts"))],
  ["a removed mark", () => rmSync(at("mark"))],
  ["bytes moved from one file to the next", () => writeFileSync(at("in/a.ts"), "ab")],
])("%s makes it stale", (_, change) => {
  change()
  expect(fresh()).toBe(false)
})

test("outputs below an input do not count as inputs", () => {
  writeFileSync(at("in/dist/out.js"), "new")
  expect(fresh()).toBe(true)
})

test("a tool's output and failure are told", async () => {
  const ended = await run(["bun", "-e", "console.log(`said`); process.exit(3)"])
  expect(ended).toEqual({ ok: false, output: "said\n" })
})
