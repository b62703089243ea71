// What a browser loads of the console, compressed as it is served, with what each answer says of
// itself before: as `scripts/bench/console.ts` measures it in a browser.
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

const dist = join(import.meta.dirname, "../../ui/dist")
const generated = readFileSync(join(dist, "../../src/gen/ui-assets.ts"), "utf8")

/** A file that every page loads, by its name in the list of assets. */
const entryOf = (name: string) =>
  new RegExp(`^  ${name}: "/ui/assets/([^"]+)"`, "m").exec(generated)?.[1] ?? ""

const headersOfOne = 270
/** The document itself, and what it must know to sign in. */
const documentSize = 1600

/** In KB of 1024 bytes. */
const sizeOf = (files: Iterable<string>) =>
  [...files].reduce(
    (sum, file) => sum + statSync(join(dist, `${file}.br`)).size + headersOfOne,
    0,
  ) / 1024

const textOf = (file: string) => readFileSync(join(dist, file), "utf8")

/** What a chunk loads with itself, and what it loads only when that is needed. */
const imports = (file: string, pattern: RegExp) =>
  [...textOf(file).matchAll(pattern)].map(([, name = ""]) => name)
const needed = (file: string) => imports(file, /(?:from|import)\s*["'`]\.\/([\w.-]+\.js)["'`]/g)
const later = (file: string) => imports(file, /import\(\s*["'`]\.\/([\w.-]+\.js)["'`]\s*\)/g)

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

/** The first page is in the shell; what comes after set-up it loads for who looks after all. */
const steps = [...shell].flatMap(later).find((file) => file.startsWith("checklist-")) ?? ""
const first = new Set([...shell, ...styles, ...firstTexts])

/** A page with all that it says, as it comes. */
const shownOf = (page: string) =>
  [...withNeeded(page)].filter((file) => !first.has(file)).concat(textsOf(page))

/** The same with the parts that it loads by themselves, further down or on demand, and theirs. */
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
    expect(pages.filter((file) => textsOf(file).length === 0)).toEqual([])
  })

  test("shows its first page for at most 180 KB, with the steps after set-up", () => {
    expect(firstTexts).toHaveLength(1)
    expect(steps).not.toBe("")
    expect(sizeOf(new Set([...first, ...withNeeded(steps)])) + documentSize / 1024).toBeLessThan(
      180,
    )
  })

  /** An application has more settings than anything else; the instance has all policies. */
  const limits: Readonly<Record<string, number>> = { "application-page": 52, "settings-page": 43 }

  const named = pages.map((file) => [nameOf(file), file] as const)

  test.each(named)("shows %s for at most 40 KB more, with all of its parts", (name, file) => {
    expect(sizeOf(wholeOf(file))).toBeLessThan(limits[name] ?? 40)
  })
})
