import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { textsBelow } from "../support/tidy-source.ts"

const root = join(import.meta.dirname, "../..")
const read = (path: string) => readFileSync(join(root, path), "utf8")
const { dependencies, devDependencies } = JSON.parse(read("package.json"))

test.each(Object.keys({ ...dependencies, ...devDependencies }))(
  "%s is documented in src/dependencies.md",
  (name) => {
    expect(read("src/dependencies.md")).toMatch(new RegExp(`^\\|.*\`${name}\`.*\\| .+ \\|$`, "m"))
  },
)

/** Build tools: `npm start` installs no development dependencies. */
const builds = ["@bufbuild/buf", "@bufbuild/protoc-gen-es"]
const shipped = Object.keys(dependencies).filter((name) => !builds.includes(name))

test.each(shipped)("%s is used by shipped code", (name) => {
  const texts = textsBelow(root, ["src", "ui"], (path) => /\.tsx?$/.test(path))
  const isUsed = (text: string) => text.includes(`"${name}"`) || text.includes(`"${name}/`)
  expect([...texts.values()].some(isUsed)).toBe(true)
})
