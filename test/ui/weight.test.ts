// What a browser loads of the console, compressed as it is served.
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

const dist = join(import.meta.dirname, "../../ui/dist")
const generated = readFileSync(join(dist, "../../src/gen/ui-assets.ts"), "utf8")

/** A file that every page loads, by its name in the list of assets. */
const entryOf = (name: string) =>
  new RegExp(`^  ${name}: "/ui/assets/([^"]+)"`, "m").exec(generated)?.[1] ?? ""

/** In KB of 1024 bytes. */
const sizeOf = (files: Iterable<string>) =>
  [...files].reduce((sum, file) => sum + statSync(join(dist, `${file}.br`)).size, 0) / 1024

const textOf = (file: string) => readFileSync(join(dist, file), "utf8")

/** What a chunk loads with itself, and what it loads only when that is needed. */
const imports = (file: string, pattern: RegExp) =>
  [...textOf(file).matchAll(pattern)].map(([, name = ""]) => name)
const needed = (file: string) => imports(file, /(?:from|import)\s*"\.\/([\w-]+\.js)"/g)
const later = (file: string) => imports(file, /import\(\s*"\.\/([\w-]+\.js)"\s*\)/g)

/** A chunk with everything that it can't do without. */
function withNeeded(file: string, all = new Set<string>()): ReadonlySet<string> {
  if (all.has(file)) return all
  all.add(file)
  for (const each of needed(file)) withNeeded(each, all)
  return all
}

const shell = withNeeded(entryOf("consoleJs"))
const styles = ["css", "consoleCss", "pageJs"].map(entryOf)
const largestOf = (names: RegExp) =>
  readdirSync(dist)
    .filter((file) => names.test(file))
    .toSorted((a, b) => sizeOf([b]) - sizeOf([a]))
    .slice(0, 1)
const firstTexts = largestOf(/^(de|en)-\w+\.js$/)
/** Of all pages but the first. */
const pageTexts = largestOf(/^pages\.(de|en)-\w+\.js$/)

const pages = [...shell]
  .flatMap(later)
  .filter((file) => file.includes("-page-"))
  .toSorted()

const firstPage = pages.find((file) => file.startsWith("projects-page-")) ?? ""
const first = new Set([...shell, ...styles, ...firstTexts, ...withNeeded(firstPage)])

describe("the console", () => {
  test("has pages that load when they are visited", () => {
    expect(pages.length).toBeGreaterThan(15)
  })

  test("says what all pages but the first say for at most 20 KB, once", () => {
    expect([...firstTexts, ...pageTexts]).toHaveLength(2)
    expect(sizeOf(pageTexts)).toBeLessThan(20)
  })

  test("shows its first page for at most 180 KB", () => {
    expect(sizeOf(first)).toBeLessThan(180)
  })

  test.each(pages.map((file) => [file.replace(/-\w+\.js$/, ""), file]))(
    "shows %s for at most 40 KB more",
    (_, file) => {
      expect(sizeOf([...withNeeded(file)].filter((each) => !first.has(each)))).toBeLessThan(40)
    },
  )
})
