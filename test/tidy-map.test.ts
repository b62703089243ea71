import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { allowedImports, modules } from "./support/tidy-imports.ts"

const root = join(import.meta.dirname, "..")
const readme = readFileSync(join(root, "src/README.md"), "utf8")

/** The rows of the table with a header, by cell. */
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

const withoutBackticks = (cell = "") => cell.replaceAll("`", "")

/** `ui/kit` unchanged, everything else below src. */
const pathOf = (module: string) => (module.startsWith("ui/") ? module : `src/${module}`)

/** The imports that a row allows its module: "everything but `kernel`". */
function allowedBy(cell: string): readonly string[] {
  const [, named = ""] = /^everything(?: but (.+))?$/.exec(cell) ?? [cell, "unreadable"]
  return named
    .split(",")
    .map((name) => withoutBackticks(name.trim()))
    .filter((name) => name !== "")
}

/** The same according to the rule; all modules of the domain are one name. */
function allowedByRule(module: string): readonly string[] {
  const allowed = (allowedImports[pathOf(module)] ?? []).map((path) => path.replace(/^src\//, ""))
  const inDomain = allowed.filter((name) => name.startsWith("domain/"))
  if (inDomain.length < modules.length - 1) return allowed
  return [...allowed.filter((name) => !name.startsWith("domain/")), "domain"]
}

const layers = tableOf(readme, "module | owns | open first | must not import")
const domain = tableOf(readme, "domain module | owns | open first")

test("reports a row that allows more than the rule, or less", () => {
  const page = "x\n\n| a | b |\n|---|---|\n| `one` | everything but `two`, `three` |\n\ny"
  const [[module, cell = ""] = []] = tableOf(page, "a | b")
  expect([module, allowedBy(cell)]).toEqual(["`one`", ["two", "three"]])
  expect(allowedBy("everything")).toEqual([])
  expect(allowedBy("nothing")).toEqual(["unreadable"])
})

test("src/README.md has at most 250 lines", () => {
  expect(readme.trimEnd().split("\n").length).toBeLessThanOrEqual(250)
})

describe("the table of modules", () => {
  test("has a row for every module, and no others", () => {
    const named = layers.map(([module]) => pathOf(withoutBackticks(module)))
    const ruled = Object.keys(allowedImports).filter((path) => !path.startsWith("src/domain/"))
    expect(named.toSorted()).toEqual(ruled.toSorted())
  })

  test.each(layers)("%s has the imports in its row", (module, _owns, _first, cell = "") => {
    expect(allowedBy(cell).toSorted()).toEqual(allowedByRule(withoutBackticks(module)).toSorted())
  })
})

describe("the table of the domain", () => {
  test("has a row for every module, below those that it can import", () => {
    expect(domain.map(([module]) => withoutBackticks(module))).toEqual(["family", ...modules])
  })
})

/** The files in a cell such as "`sign.ts` signs, `verify.ts` verifies". */
const filesIn = (cell = ""): readonly string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file)

const firstFiles = [
  ...layers.map(([module, , first]) => [pathOf(withoutBackticks(module)), filesIn(first)] as const),
  ...domain.map(
    ([module, , first]) => [`src/domain/${withoutBackticks(module)}`, filesIn(first)] as const,
  ),
]

test.each(firstFiles.filter(([path]) => path !== "src/gen"))("%s contains %s", (path, files) => {
  const fileNames = files.map((file) => (path.endsWith(".ts") ? path : join(path, file)))
  expect(fileNames).not.toEqual([])
  expect(fileNames.filter((name) => !existsSync(join(root, name)))).toEqual([])
})
