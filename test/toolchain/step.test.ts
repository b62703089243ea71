import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { fingerprint, matchesFingerprint, run } from "../../scripts/step.ts"

let folder = ""
const pathOf = (path: string) => join(folder, path)
const fresh = () => matchesFingerprint(pathOf("mark"), [pathOf("in"), pathOf("lock")])

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "latchkey-step-"))
  mkdirSync(pathOf("in/dist"), { recursive: true })
  writeFileSync(pathOf("in/a.ts"), "a")
  writeFileSync(pathOf("in/b.ts"), "b")
  writeFileSync(pathOf("lock"), "lock")
  writeFileSync(pathOf("mark"), fingerprint([pathOf("in"), pathOf("lock")]))
})
afterEach(() => rmSync(folder, { recursive: true }))

test("output from the same inputs is fresh, whatever their timestamps", () => {
  utimesSync(pathOf("in/a.ts"), 1, 1)
  expect(fresh()).toBe(true)
})

test.each([
  ["a changed file", () => writeFileSync(pathOf("in/a.ts"), "A")],
  ["a new file", () => writeFileSync(pathOf("in/c.ts"), "")],
  ["a removed file", () => rmSync(pathOf("in/b.ts"))],
  ["a removed mark", () => rmSync(pathOf("mark"))],
  ["bytes moved from one file to the next", () => writeFileSync(pathOf("in/a.ts"), "ab")],
])("%s makes it stale", (_, change) => {
  change()
  expect(fresh()).toBe(false)
})

test("outputs in an input directory are not inputs", () => {
  writeFileSync(pathOf("in/dist/out.js"), "new")
  expect(fresh()).toBe(true)
})

test("reports a tool's output and failure", async () => {
  const ended = await run(["bun", "-e", "console.log(`said`); process.exit(3)"])
  expect(ended).toEqual({ ok: false, output: "said\n" })
})
