// For every permanent event: whether an undo is offered, its request or the reason for none, and
// for each kind of resource the shown fields. The golden lists are events.tsv and shown.tsv.
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

/** Expects no missing and no surplus rows in a golden list. */
function expectRows(file: string, matches: readonly string[]): void {
  const [, ...golden] = readFileSync(`${import.meta.dirname}/${file}`, "utf8")
    .trimEnd()
    .split("\n")
  expect({
    rowsToAdd: matches.filter((row) => !golden.includes(row)),
    rowsToRemove: golden.filter((row) => !matches.includes(row)),
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

test("every kind of resource shows the fields that shown.tsv lists", async () => {
  const kinds = new Map(
    events.map(({ stream, type }) => [sampleOf(stream, type), { stream, type }]),
  )
  const rows: string[] = []
  for (const [sample, kind] of kinds) {
    rows.push(`${kind.stream}\t${(await shownFields({ ...kind, sample })).join(" ")}`)
  }
  expectRows("shown.tsv", rows)
})
