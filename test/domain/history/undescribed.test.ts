// The history.ts of each module defines how its events are undone. Missing or misspelled entries
// are reported with the fix.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { findOperation } from "../../../src/domain/history/binding/v2-request.ts"
import { readHistory, undoOf } from "../../../src/domain/history/resource.ts"
import { aggregates } from "../../../src/server/modules.ts"
import {
  type AnyAggregate,
  aggregate,
  type Event,
  historyOf,
  isNoUndoReason,
} from "../../../src/store/index.ts"

const domain = join(import.meta.dirname, "../../../src/domain")

/** The directory of the module that declares a kind of stream. */
function folderOf(stream: string): string {
  const files = readdirSync(domain, { recursive: true, encoding: "utf8" })
  const file = files.find(
    (each) =>
      each.endsWith(".ts") &&
      readFileSync(join(domain, each), "utf8").includes(`stream: "${stream}",`),
  )
  return `src/domain/${file?.split("/")[0]}`
}

/** Missing or invalid entries in the history of a kind. */
async function problemsOf(kind: AnyAggregate): Promise<readonly string[]> {
  const history = await readHistory(kind)
  const file = `history.ts in ${folderOf(kind.stream)}`
  const types = Object.keys(kind.evolve)
  const { undo = {}, noUndo = {} } = history
  const undescribed = types.filter((type) => undoOf(history, type) === undefined)
  const named = types.flatMap((type) => {
    const operation = undoOf(history, type)
    return typeof operation === "string" && !isNoUndoReason(operation) ? [{ type, operation }] : []
  })
  const unknown = named.filter(({ operation }) => !findOperation(history, operation))
  const isPattern = (key: string) => key.includes("*")
  const patterns = [...Object.keys(undo).filter(isPattern), ...Object.values(noUndo).flat()]
  const unused = patterns.filter((pattern) => {
    const undos = Object.fromEntries(Object.entries(undo).filter(([key]) => key !== pattern))
    const reasons = Object.entries(noUndo).map(([reason, all]) => [
      reason,
      all.filter((each) => each !== pattern),
    ])
    const others = { ...history, undo: undos, noUndo: Object.fromEntries(reasons) }
    return types.every((type) => undoOf(others, type) === undoOf(history, type))
  })
  return [
    ...undescribed.map(
      (type) =>
        `${type}: name the operation that undoes it under undo, or the reason why none does ` +
        `under noUndo, in ${file}`,
    ),
    ...unknown.map(
      ({ type, operation }) => `${type}: there is no operation ${operation}; see ${file}`,
    ),
    ...Object.keys(undo)
      .filter((type) => !isPattern(type) && !types.includes(type))
      .map((type) => `${type}: no event of ${kind.stream} has this type; see ${file}`),
    ...unused.map((pattern) => `${pattern}: matches no event of ${kind.stream}; see ${file}`),
  ]
}

test("every permanent event has an undo or a reason for none", async () => {
  const kinds = aggregates.filter(({ retention }) => retention === "forever")
  const problems = await Promise.all(kinds.map(problemsOf))
  expect(problems.flat()).toEqual([])
  expect(kinds.flatMap(({ evolve }) => Object.keys(evolve)).length).toBeGreaterThan(250)
})

type ShelfEvent = Event<"shelf.added"> | Event<"shelf.moved"> | Event<"shelf.removed">

const shelf = aggregate<ShelfEvent, object>({
  stream: "shelf",
  initial: {},
  evolve: {
    "shelf.added": (state) => state,
    "shelf.moved": (state) => state,
    "shelf.removed": (state) => state,
  },
})

test("missing and misspelled entries are reported with the fix", async () => {
  expect(await problemsOf(shelf)).toEqual([
    expect.stringMatching(/^shelf\.moved: name the operation .* in history\.ts in src\/domain\//),
  ])
  const described = (undo: object, noUndo = {}) => {
    const operations = "core.shelf.v2.ShelfService/*Shelf"
    const shelfHistory = { ...historyOf(shelf, { operations }), undo, noUndo }
    return problemsOf({ ...shelf, history: async () => ({ shelfHistory }) })
  }
  expect(await described({ "shelf.moved": "MoveShelf" })).toEqual([
    expect.stringContaining("shelf.moved: there is no operation MoveShelf"),
  ])
  const full = "core.project.v2.ProjectService/UpdateProject"
  expect(await described({ "shelf.moved": full })).toEqual([])
  expect(await described({ "shelf.moved": full, "shelf.mvoed": full })).toEqual([
    expect.stringContaining("shelf.mvoed: no event of shelf has this type"),
  ])
  expect(await described({ "shelf.moved": full }, { fact: ["shelf.lost"] })).toEqual([
    expect.stringContaining("shelf.lost: matches no event of shelf"),
  ])
  expect(await described({}, { fact: ["shelf.*"] })).toEqual([])
  expect(await described({ "*.moved": full })).toEqual([])
  expect(await described({ "*.moved": full, "*.mvoed": full })).toEqual([
    expect.stringContaining("*.mvoed: matches no event of shelf"),
  ])
})
