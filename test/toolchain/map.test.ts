import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"

const root = join(import.meta.dirname, "../..")
const map = readFileSync(join(root, "src/README.md"), "utf8")

/** Pages that the map names and that name files, too. */
const pages = [
  "src/dependencies.md",
  "src/oauth/README.md",
  "src/rules.md",
  "src/words.md",
  "test/fuzz/README.md",
  "ui/console/README.md",
].map((path) => readFileSync(join(root, path), "utf8"))

/** What stands in backticks and reads as a path of ours. */
const paths = [
  ...[map, ...pages].join("\n").matchAll(/`((?:[\w.-]+\/)+[\w-]+\.(?:ts|tsv|proto))`/g),
].map((match) => match[1] ?? "")

test("the map names files", () => {
  expect(paths).toContain("api/dispatch.ts")
})

const roots = ["", "src", "ui/console"]

test.each([...new Set(paths)])("%s is where the map says", (path) => {
  expect(roots.some((below) => existsSync(join(root, below, path)))).toBe(true)
})
