import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { mayImport, modules } from "./support/tidy-imports.ts"

const root = join(import.meta.dirname, "..")
const map = readFileSync(join(root, "src/README.md"), "utf8")

/** The rows of the table that begins with a header, cell by cell. */
function tableOf(page: string, header: string): readonly (readonly string[])[] {
  const [, after = ""] = page.split(`| ${header} |`)
  const lines = after.split("\n").slice(2)
  const end = lines.findIndex((line) => !line.startsWith("|"))
  return lines.slice(0, end).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  )
}

const bare = (cell = "") => cell.replaceAll("`", "")

/** `ui/kit` as it is, everything else below src. */
const pathOf = (module: string) => (module.startsWith("ui/") ? module : `src/${module}`)

/** What a row lets its module import: "everything but `kernel`". */
function allowedBy(cell: string): readonly string[] {
  const [, named = ""] = /^everything(?: but (.+))?$/.exec(cell) ?? [cell, "unreadable"]
  return named
    .split(",")
    .map((name) => bare(name.trim()))
    .filter((name) => name !== "")
}

/** The same by the rule; all modules of the domain are one name. */
function allowedByRule(module: string): readonly string[] {
  const allowed = (mayImport[pathOf(module)] ?? []).map((path) => path.replace(/^src\//, ""))
  const inDomain = allowed.filter((name) => name.startsWith("domain/"))
  if (inDomain.length < modules.length - 1) return allowed
  return [...allowed.filter((name) => !name.startsWith("domain/")), "domain"]
}

const layers = tableOf(map, "module | owns | open first | must not import")
const domain = tableOf(map, "domain module | owns | open first")

test("a row that allows more than the rule, or less, is found", () => {
  const page = "x\n\n| a | b |\n|---|---|\n| `one` | everything but `two`, `three` |\n\ny"
  const [[module, cell = ""] = []] = tableOf(page, "a | b")
  expect([module, allowedBy(cell)]).toEqual(["`one`", ["two", "three"]])
  expect(allowedBy("everything")).toEqual([])
  expect(allowedBy("nothing")).toEqual(["unreadable"])
})

test("src/README.md has at most 250 lines", () => {
  expect(map.trimEnd().split("\n").length).toBeLessThanOrEqual(250)
})

describe("the table of modules", () => {
  test("has a row for every module, and no other", () => {
    const named = layers.map(([module]) => pathOf(bare(module)))
    const ruled = Object.keys(mayImport).filter((path) => !path.startsWith("src/domain/"))
    expect(named.toSorted()).toEqual(ruled.toSorted())
  })

  test.each(layers)("%s must not import what its row says", (module, _owns, _first, cell = "") => {
    expect(allowedBy(cell).toSorted()).toEqual(allowedByRule(bare(module)).toSorted())
  })
})

describe("the table of the domain", () => {
  test("has a row for every module, each below those that it may import", () => {
    expect(domain.map(([module]) => bare(module))).toEqual(["family", ...modules])
  })
})

const firstFiles = [
  ...layers.map(([module, , first]) => [pathOf(bare(module)), bare(first)] as const),
  ...domain.map(([module, , first]) => [`src/domain/${bare(module)}`, bare(first)] as const),
]

test.each(firstFiles.filter(([path]) => path !== "src/gen"))(
  "%s has %s to open first",
  (path, file) => {
    expect(existsSync(join(root, path.endsWith(".ts") ? path : join(path, file)))).toBe(true)
    expect(file).not.toBe("")
  },
)
