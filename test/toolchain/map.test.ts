import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"

const root = join(import.meta.dirname, "../..")
const overview = readFileSync(join(root, "src/README.md"), "utf8")

/** Pages linked from the overview that also name files. */
const pages = [
  "src/dependencies.md",
  "src/oauth/README.md",
  "src/rules.md",
  "src/words.md",
  "test/fuzz/README.md",
  "ui/console/README.md",
].map((path) => readFileSync(join(root, path), "utf8"))

/** Paths of our files in backticks. */
const paths = [
  ...[overview, ...pages].join("\n").matchAll(/`((?:[\w.-]+\/)+[\w-]+\.(?:ts|tsv|proto))`/g),
].map((match) => match[1] ?? "")

test("the overview names files", () => {
  expect(paths).toContain("api/dispatch.ts")
})

/** Files to open first are relative to their module; the rules of the overview compare each one. */
const modules = readdirSync(join(root, "src/domain")).map((name) => `src/domain/${name}`)
const roots = ["", "src", "ui/console", ...modules]

test.each([...new Set(paths)])("%s exists at the documented path", (path) => {
  expect(roots.some((below) => existsSync(join(root, below, path)))).toBe(true)
})
