// The data that a browser loads for the console, compressed as served, with response headers: as
// `scripts/bench/console.ts` measures it in a browser.
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

const dist = join(import.meta.dirname, "../../ui/dist")
const generated = readFileSync(join(dist, "../../src/gen/ui-assets.ts"), "utf8")

/** A file that every page loads, by its name in the asset list. */
const entryOf = (name: string) =>
  new RegExp(`^  ${name}: "/ui/assets/([^"]+)"`, "m").exec(generated)?.[1] ?? ""

const headerBytes = 270
/** The document itself, and the data that it needs to sign in. */
const documentBytes = 1600

/** In KB of 1024 bytes. */
const sizeOf = (files: Iterable<string>) =>
  [...files].reduce((sum, file) => sum + statSync(join(dist, `${file}.br`)).size + headerBytes, 0) /
  1024

const textOf = (file: string) => readFileSync(join(dist, file), "utf8")

/** The static and the dynamic imports of a chunk. */
const imports = (file: string, pattern: RegExp) =>
  [...textOf(file).matchAll(pattern)].map(([, name = ""]) => name)
const staticImports = (file: string) =>
  imports(file, /(?:from|import)\s*["'`]\.\/([\w.-]+\.js)["'`]/g)
const lazyImports = (file: string) => imports(file, /import\(\s*["'`]\.\/([\w.-]+\.js)["'`]\s*\)/g)

/** A chunk with its static imports. */
function withNeeded(file: string, all = new Set<string>()): ReadonlySet<string> {
  if (all.has(file)) return all
  all.add(file)
  for (const each of staticImports(file)) withNeeded(each, all)
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

const pages = [...new Set([...shell].flatMap(lazyImports))]
  .filter((file) => file.includes("-page-"))
  .toSorted()
const nameOf = (page: string) => page.replace(/-\w+\.js$/, "")
/** The texts of a page in the largest language. */
const textsOf = (page: string) => largestOf(new RegExp(`^${nameOf(page)}\\.(de|en)-\\w+\\.js$`))

/** The first page is in the shell; an administrator also loads the checklist after setup. */
const checklist =
  [...shell].flatMap(lazyImports).find((file) => file.startsWith("checklist-")) ?? ""
const first = new Set([...shell, ...styles, ...firstTexts])

/** A page with its texts, as loaded. */
const initialFiles = (page: string) =>
  [...withNeeded(page)].filter((file) => !first.has(file)).concat(textsOf(page))

/** The same with the parts that it loads lazily or on demand, and their imports. */
function allFiles(page: string): readonly string[] {
  const all = new Set(initialFiles(page))
  for (const file of all) {
    for (const part of lazyImports(file)) for (const each of initialFiles(part)) all.add(each)
  }
  return [...all]
}

describe("the console", () => {
  test("has pages that load lazily, each with its texts", () => {
    expect(pages.length).toBeGreaterThan(15)
    expect(pages.filter((file) => textsOf(file).length === 0)).toEqual([])
  })

  test("loads its first page with at most 180 KB, including the steps after setup", () => {
    expect(firstTexts).toHaveLength(1)
    expect(checklist).not.toBe("")
    expect(
      sizeOf(new Set([...first, ...withNeeded(checklist)])) + documentBytes / 1024,
    ).toBeLessThan(180)
  })

  /** An application has the most settings; the instance has all policies. */
  const limits: Readonly<Record<string, number>> = { "application-page": 52, "settings-page": 43 }

  const named = pages.map((file) => [nameOf(file), file] as const)

  test.each(named)("loads %s with at most 40 KB more, including all of its parts", (name, file) => {
    expect(sizeOf(allFiles(file))).toBeLessThan(limits[name] ?? 40)
  })
})
