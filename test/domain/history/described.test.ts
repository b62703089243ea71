// Every event that is stored forever: whether an undo is offered, the request that undoes it or why
// none does; and the fields that are shown of each kind of thing. The golden lists are events.tsv
// and shown.tsv.
import { readFileSync } from "node:fs"
import { afterAll, expect, test } from "vitest"
import { aggregates } from "../../../src/server/modules.ts"
import { describedEvent, eventSample, sampleOf, shownFields, world } from "./described.ts"

afterAll(() => world.close())

const events = aggregates
  .filter(({ retention }) => retention === "forever")
  .flatMap(({ stream, evolve }) =>
    Object.keys(evolve).map((type) => ({ stream, type, sample: eventSample(stream, type) })),
  )

/** The rows that a golden list lacks, and those that it has too many. */
function expectRows(file: string, found: readonly string[]): void {
  const [, ...golden] = readFileSync(`${import.meta.dirname}/${file}`, "utf8")
    .trimEnd()
    .split("\n")
  expect({
    rowsToAdd: found.filter((row) => !golden.includes(row)),
    rowsToRemove: golden.filter((row) => !found.includes(row)),
  }).toEqual({ rowsToAdd: [], rowsToRemove: [] })
}

test("every event has a title, and the undo that events.tsv lists", async () => {
  const described = await Promise.all(
    events.map(async (event) => ({ ...event, ...(await describedEvent(event)) })),
  )
  const untitled = described.filter(({ type, title }) => title === type)
  expect(untitled.map(({ type }) => `texts/en.json lacks ${type}`)).toEqual([])
  expectRows(
    "events.tsv",
    described.map(({ type, isOffered, undo }) => [type, isOffered ? "yes" : "no", undo].join("\t")),
  )
})

test("of every kind of thing the fields are shown that shown.tsv lists", async () => {
  const kinds = new Map(
    events.map(({ stream, type }) => [sampleOf(stream, type), { stream, type }]),
  )
  const rows: string[] = []
  for (const [sample, kind] of kinds) {
    rows.push(`${kind.stream}\t${(await shownFields({ ...kind, sample })).join(" ")}`)
  }
  expectRows("shown.tsv", rows)
})
