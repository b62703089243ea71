// The list of attacks on a sign-in, its pictures, texts and mails: each names the tests that try
// it, and the event that it leaves behind for who looks, or why it leaves none. That an event is
// written is for those tests to show.
import { join } from "node:path"
import { beforeAll, expect, test } from "vitest"
import { aggregates } from "../../src/server/modules.ts"
import { tableOf } from "../contract/table.ts"
import { filesOf, flawsOf, type Must, titlesOf } from "../oauth/musts.ts"
import { parse, textsBelow } from "../support/tidy-source.ts"

const rows = tableOf("test/login/attacks.tsv")
const demands = rows.map(
  ({ attack = "", test = "" }): Must => ({
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

test("each attack is tried", () => {
  expect(flawsOf(demands, (file) => titles.get(file))).toEqual([])
})

test("each leaves an event behind, or says why it leaves none", () => {
  const types = new Set(aggregates.flatMap(({ evolve }) => Object.keys(evolve)))
  const wrong = rows.filter(({ event = "", without = "" }) =>
    event === "" ? without.split(" ").length < 4 : without !== "" || !types.has(event),
  )
  expect(wrong.map(({ attack, event }) => `${attack}: ${event}`)).toEqual([])
})
