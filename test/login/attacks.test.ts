// The list of attacks on the sign-in, its images, texts and emails: each row names the tests that
// cover it, and the event that it leaves, or why it leaves none. Those tests check the event
// itself.
import { join } from "node:path"
import { beforeAll, expect, test } from "vitest"
import { aggregates } from "../../src/server/modules.ts"
import { tableOf } from "../contract/table.ts"
import { filesOf, findErrors, type Requirement, titlesOf } from "../oauth/musts.ts"
import { parse, textsBelow } from "../support/tidy-source.ts"

const rows = tableOf("test/login/attacks.tsv")
const demands = rows.map(
  ({ attack = "", test = "" }): Requirement => ({
    document: "attack",
    section: "refused",
    demand: attack,
    test,
    reason: "",
  }),
)

let titles: ReadonlyMap<string, ReadonlySet<string>> = new Map()
beforeAll(async () => {
  const named = new Set(filesOf(demands).map((file) => `test/${file}`))
  const texts = textsBelow(join(import.meta.dirname, "../.."), ["test"], (path) => named.has(path))
  const sources = await parse(texts)
  titles = new Map(sources.map((source) => [source.path.slice("test/".length), titlesOf(source)]))
})

test("every attack has a test", () => {
  expect(findErrors(demands, (file) => titles.get(file))).toEqual([])
})

test("every attack leaves an event, or a reason for none", () => {
  const types = new Set(aggregates.flatMap(({ evolve }) => Object.keys(evolve)))
  const wrong = rows.filter(({ event = "", without = "" }) =>
    event === "" ? without.split(" ").length < 4 : without !== "" || !types.has(event),
  )
  expect(wrong.map(({ attack, event }) => `${attack}: ${event}`)).toEqual([])
})
