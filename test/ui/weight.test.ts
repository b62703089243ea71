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
const needed = (file: string) => imports(file, /(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)
const later = (file: string) => imports(file, /import\(\s*"\.\/([\w.-]+\.js)"\s*\)/g)

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

const pages = [...new Set([...shell].flatMap(later))]
  .filter((file) => file.includes("-page-"))
  .toSorted()
const nameOf = (page: string) => page.replace(/-\w+\.js$/, "")
/** Of what a page says, in the language that needs most. */
const textsOf = (page: string) => largestOf(new RegExp(`^${nameOf(page)}\\.(de|en)-\\w+\\.js$`))

const firstPage = pages.find((file) => nameOf(file) === "projects-page") ?? ""
const first = new Set([...shell, ...styles, ...firstTexts, ...withNeeded(firstPage)])

/** A page with all that it says, as it comes. */
const shownOf = (page: string) =>
  [...withNeeded(page)].filter((file) => !first.has(file)).concat(textsOf(page))

/** The same with the parts that it loads by themselves, further down or on demand. */
function wholeOf(page: string): readonly string[] {
  const all = new Set(shownOf(page))
  for (const file of all) {
    for (const part of later(file)) for (const each of shownOf(part)) all.add(each)
  }
  return [...all]
}

describe("the console", () => {
  test("has pages that load when they are visited, each with its texts", () => {
    expect(pages.length).toBeGreaterThan(15)
    const others = pages.filter((file) => file !== firstPage)
    expect(others.filter((file) => textsOf(file).length === 0)).toEqual([])
  })

  test("shows its first page for at most 180 KB", () => {
    expect(firstTexts).toHaveLength(1)
    expect(sizeOf(first)).toBeLessThan(180)
  })

  const named = pages.map((file) => [nameOf(file), file] as const)

  test.each(named)("shows %s for at most 40 KB more, with all that it says", (_, file) => {
    expect(sizeOf(shownOf(file))).toBeLessThan(40)
  })

  test.each(named)("has no more than 56 KB in %s with all of its parts", (_, file) => {
    expect(sizeOf(wholeOf(file))).toBeLessThan(56)
  })
})
