import { afterEach, beforeEach, expect, test } from "vitest"
import { paginate } from "../../src/store/index.ts"
import { callerOf, openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import { modules } from "./account.ts"

let world: TestEnvironment
beforeEach(() => {
  world = openTestEnvironment(modules)
})
afterEach(() => world.close())

type Row = { readonly id: number; readonly name: string; readonly isBig: boolean }

const rowOf = (id: number): Row => ({ id, name: `name ${id % 3}`, isBig: id % 2 > 0 })
const rowsOf = (...ids: readonly number[]) => ids.map(rowOf)

type PageRequest = { readonly offset: number; readonly limit?: number; readonly asc?: boolean }

const getPage = (
  rows: readonly Row[],
  { offset, limit = 2, asc = true }: PageRequest,
  caller = "ada",
) =>
  paginate(world.cx({ caller: callerOf(caller) }), rows, {
    page: { offset, limit, asc },
    requested: ["rows"],
    by: ({ name, id }) => [name, id],
  })

const ids = (result: { readonly rows: readonly Row[] }) => result.rows.map(({ id }) => id)

test("rows are sorted, paged, and counted", () => {
  const rows = rowsOf(5, 1, 4, 2, 3, 6)
  const asc = ids(getPage(rows, { offset: 0, limit: 6 }))
  expect(asc).toEqual([3, 6, 1, 4, 2, 5])
  expect(ids(getPage(rows, { offset: 0, limit: 6, asc: false }))).toEqual(asc.toReversed())
  expect(getPage(rows, { offset: 4, limit: 3 })).toMatchObject({ total: 6, limit: 3 })
  expect(ids(getPage(rows, { offset: 4, limit: 3 }))).toEqual([2, 5])
  expect(ids(getPage(rows, { offset: 99 }))).toEqual([])
})

test("booleans and numbers are sorted by value", () => {
  const by = (row: Row) => [row.isBig, row.id]
  const wanted = { page: { offset: 0, limit: 9, asc: true }, requested: [], by }
  expect(ids(paginate(world.cx(), rowsOf(3, 10, 2, 1), wanted))).toEqual([2, 10, 1, 3])
})

test.each([true, false])("a page continues after the previous row, ascending: %s", (asc) => {
  const list = (rows: readonly Row[], offset: number) => ids(getPage(rows, { offset, asc }))
  const first = list(rowsOf(3, 6, 9, 12), 0)
  expect(first).toEqual(asc ? [3, 6] : [12, 9])
  const next = asc ? [9, 12] : [6, 3]
  // One row is created before the page and one is removed.
  const others = asc ? rowsOf(0, 6, 9, 12) : rowsOf(3, 6, 9, 15)
  expect(list(others, 2)).toEqual(next)
  expect(list(asc ? rowsOf(9, 12) : rowsOf(3, 6), 2)).toEqual(next)
  // The last row of the previous page and everything after it was removed.
  expect(list([], 2)).toEqual([])
})

test("a list that grew after its last page continues after its end", () => {
  const list = (rows: readonly Row[], offset: number) => ids(getPage(rows, { offset }))
  list(rowsOf(3, 6, 9), 0)
  expect(list(rowsOf(3, 6, 9), 2)).toEqual([9])
  expect(list(rowsOf(0, 3, 6, 9, 12), 3)).toEqual([12])
  expect(list(rowsOf(0, 3, 6, 9, 12, 15), 4)).toEqual([15])
})

test("a new start, and any other caller, counts from the beginning", () => {
  getPage(rowsOf(3, 6, 9, 12), { offset: 0 })
  const others = rowsOf(0, 3, 6, 9, 12)
  expect(ids(getPage(others, { offset: 2 }, "eve"))).toEqual([6, 9])
  expect(ids(getPage(others, { offset: 0 }))).toEqual([0, 3])
  world.clock.advance(61_000)
  expect(ids(getPage(others, { offset: 2 }))).toEqual([6, 9])
})
