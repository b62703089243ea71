import { join } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import { tableOf } from "../contract/table.ts"
import { parse, type Source, textsBelow } from "../support/tidy-source.ts"
import { flawsOfInterface, interfaceRows } from "./interface-rows.ts"
import { columns, filesOf, findErrors, type Requirement, titlesOf } from "./musts.ts"

const rows = tableOf("test/oauth/musts.tsv").map((row): Requirement => {
  expect(Object.keys(row)).toEqual([...columns])
  const { document = "", section = "", demand = "", test = "", reason = "" } = row
  return { document, section, demand, test, reason }
})

describe("the requirements of the specifications", () => {
  let titles: ReadonlyMap<string, ReadonlySet<string>> = new Map()
  beforeAll(async () => {
    const named = new Set(filesOf(rows).map((file) => `test/${file}`))
    const root = join(import.meta.dirname, "../..")
    const texts = textsBelow(root, ["test"], (path) => named.has(path))
    const sources = await parse(texts)
    titles = new Map(sources.map((source) => [source.path.slice("test/".length), titlesOf(source)]))
  })

  test("have tests, or a reason for none", () => {
    expect(findErrors(rows, (file) => titles.get(file))).toEqual([])
  })

  test("include every row of the interface, with its test", () => {
    expect(flawsOfInterface(rows)).toEqual([])
    // Detects a row missing from both lists by the total count.
    const count = Object.values(interfaceRows).flat().length
    expect([count, Object.keys(interfaceRows).length]).toEqual([66, 37])
  })

  const documents = [
    "6749",
    "6750",
    "7009",
    "7521",
    "7523",
    "7636",
    "7662",
    "8252",
    "8414",
    "8628",
    "8693",
    "8707",
    "9068",
    "9101",
    "9126",
    "9207",
    "9449",
    "9700",
  ].map((number) => `RFC ${number}`)
  const openid = [
    "OpenID Connect Core",
    "OpenID Connect Discovery",
    "RP-Initiated Logout",
    "Back-Channel Logout",
    "Front-Channel Logout",
    "Multiple Response Types",
    "Form Post Response Mode",
    "interface",
  ]

  test("come from every supported document", () => {
    expect([...new Set(rows.map(({ document }) => document))].sort()).toEqual(
      [...documents, ...openid].sort(),
    )
  })
})

describe("the check", () => {
  const good: Requirement = {
    document: "RFC 0",
    section: "§1",
    demand: "to be",
    test: "a.test.ts › is",
    reason: "",
  }
  const other: Requirement = {
    ...good,
    demand: "not to be",
    test: "a.test.ts › is | a.test.ts › row",
  }
  const known = new Map([["a.test.ts", new Set(["is", "row"])]])
  const flaws = (planted: readonly Requirement[]) => findErrors(planted, (file) => known.get(file))

  test("accepts rows with a test or a reason", () => {
    const excused = { ...good, demand: "other", test: "", reason: "no client can request it" }
    expect(flaws([good, other, excused])).toEqual([])
  })

  const bad: readonly (readonly [string, Partial<Requirement>, string])[] = [
    ["no document", { document: "" }, "a cell is empty"],
    ["no section", { section: "" }, "a cell is empty"],
    ["no demand", { demand: "" }, "a cell is empty"],
    ["neither test nor reason", { test: "" }, "has neither a test nor a reason"],
    ["both", { reason: "because of this and that" }, "has a test and a reason against one"],
    ["a thin reason", { test: "", reason: "not for us" }, "a reason has 4 words at least"],
    ["a file that isn't there", { test: "b.test.ts › is" }, "there is no b.test.ts"],
    ["a test that isn't there", { test: "a.test.ts › was" }, 'a.test.ts has no test "was"'],
    [
      "a second test that isn't there",
      { test: "a.test.ts › is | a.test.ts › no" },
      'a.test.ts has no test "no"',
    ],
    ["a file without a title", { test: "a.test.ts" }, 'a.test.ts has no test ""'],
  ]
  test.each(bad)("reports a row with %s", (_, change, flaw) => {
    const planted = { ...good, ...change }
    const { document, section, demand } = planted
    expect(flaws([other, planted])).toEqual([`${document} ${section}: ${demand}: ${flaw}`])
  })

  test("reports a duplicate row", () => {
    expect(flaws([good, other, good])).toEqual(["RFC 0 §1: to be: stands there twice"])
  })

  test("recognizes titles of tests and of table rows only", async () => {
    const text = `
      const rows = [["a row", 1, "no title"], ["another", 2]]
      const keyed = { "a key": "no value", name: "a name", module: "a module" }
      describe("no group", () => {
        test.each(rows)("in all of %s", () => {})
        test("alone", () => { call("no call") })
        test.runIf(yes)("under a condition", () => {})
      })`
    const [source] = await parse(new Map([["a.test.ts", text]]))
    expect([...titlesOf(source as Source)].sort()).toEqual([
      "a key",
      "a module",
      "a name",
      "a row",
      "alone",
      "another",
      "in all of %s",
      "under a condition",
    ])
  })

  test("reports a row of the interface that is missing, unknown, or untested", () => {
    const own = rows.filter(({ document }) => document === "interface")
    const [first, ...others] = own
    if (!first) throw new Error("there is none")
    const { section, demand } = first
    expect(flawsOfInterface(others)).toEqual([
      `${section} activating login_default_org: no must names it`,
    ])
    const unknown = { ...first, demand: "another resource" }
    expect(flawsOfInterface([...own, unknown])).toEqual([
      `${section} another resource: names no row`,
    ])
    const bare = { ...first, test: "", reason: "a reason of many words" }
    expect(flawsOfInterface([bare, ...others])).toEqual([
      `${section} ${demand}: has no test, or one against the list`,
    ])
  })
})
