import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { mayImport } from "../support/tidy-imports.ts"

const root = join(import.meta.dirname, "../..")
const map = readFileSync(join(root, "src/README.md"), "utf8")

/** What stands in backticks and reads as a path of ours. */
const paths = [...map.matchAll(/`((?:[\w.-]+\/)+[\w-]+\.(?:ts|tsv|proto))`/g)].map(
  (match) => match[1] ?? "",
)

test("the map names files", () => {
  expect(paths).toContain("api/dispatch.ts")
})

test.each([...new Set(paths)])("%s is where the map says", (path) => {
  expect(existsSync(join(root, path)) || existsSync(join(root, "src", path))).toBe(true)
})

test.each(Object.keys(mayImport))("%s is in the map", (module) => {
  const name = module.replace(/^src\//, "").replace(/^domain\/.*/, "domain/<module>")
  expect(map).toContain(name)
})
