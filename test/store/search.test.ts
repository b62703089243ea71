import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Scope } from "../../src/kernel/context.ts"
import {
  aggregate,
  type Event,
  type Filter,
  fold,
  integer,
  nullable,
  type Searchable,
  search,
  statement,
  table,
  text,
  view,
} from "../../src/store/index.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"

type Row = { readonly id: string; readonly name: string; readonly note: string | null }
type BookEvent = Event<"book.added", Row & { folded: string; org: string; rank: number }>

const book = aggregate<BookEvent, null>({
  stream: "book",
  initial: null,
  evolve: { "book.added": () => null },
})
const insert = statement(
  `INSERT INTO books (instance, id, name, name_folded, note, org, rank)
   VALUES ($instance, $id, $name, $folded, $note, $org, $rank)`,
)
const bookView = view<BookEvent>({
  name: "book",
  tables: [
    table(
      "books",
      {
        id: text(),
        name: text(),
        name_folded: text(),
        note: nullable(text()),
        org: text(),
        rank: integer(),
      },
      { key: ["id"] },
    ),
  ],
  on: { "book.added": (db, { data }) => db.run(insert, { ...data }) },
})
const searchable: Searchable = {
  table: "books",
  columns: ["name", "name_folded", "note", "rank"],
  owner: { org: "org", self: "id" },
  key: "id",
  sort: "rank",
}

const shelf: readonly (readonly [string, string, string, number, string | null])[] = [
  ["1", "100% Wool", "a", 3, null],
  ["2", "under_score", "a", 1, "x"],
  ["3", "Émile", "b", 2, "y"],
  ["4", "it's; DROP TABLE books_1 --", "b", 2, "y"],
  ["5", "wool", "c", 2, "z"],
]

let world: TestEnvironment
beforeAll(async () => {
  world = openTestEnvironment({ aggregates: [book], views: [bookView] })
  for (const instance of ["i1", "i2"]) {
    await world.store.transact(world.cx({ instance }), (tx) => {
      for (const [id, name, org, rank, note] of shelf) {
        const data = { id, name, folded: fold(name), org, rank, note }
        tx.append(book, id, [{ type: "book.added", data }])
      }
    })
  }
})
afterAll(() => world.close())

const fullScope: Scope = { all: true, orgs: [], projects: [], grants: [] }
const page = { offset: 0, limit: 100, asc: true }

async function findBooks(
  filters: readonly Filter[],
  over: { scope?: Scope; page?: typeof page; sort?: string } = {},
) {
  const cx = world.cx({ scope: over.scope ?? fullScope })
  const { scope: _, ...query } = { page, filters, ...over }
  const found = await search<Row>(cx, searchable, query)
  return { ids: found.rows.map((row) => row.id).join(""), total: found.total }
}
const ids = async (...filters: readonly Filter[]) => {
  const found = await findBooks(filters)
  return [...found.ids].sort().join("")
}

test("an empty search finds everything in its instance, sorted, with the key as tie-breaker", async () => {
  expect(await findBooks([])).toEqual({ ids: "23451", total: 5 })
  expect((await findBooks([], { page: { ...page, asc: false } })).ids).toBe("15432")
  expect((await findBooks([], { sort: "name" })).ids).toBe("14253")
  expect((await findBooks([], { sort: "id" })).ids).toBe("12345")
})

test("a page is a part of the result, and its total counts all", async () => {
  const windows = await Promise.all(
    [0, 2, 4, 6].map((offset) => findBooks([], { page: { offset, limit: 2, asc: true } })),
  )
  expect(windows.map((window) => window.ids)).toEqual(["23", "45", "1", ""])
  expect(windows.map((window) => window.total)).toEqual([5, 5, 5, 5])
})

describe("the caller's scope", () => {
  const scoped = (scope: Partial<Scope>) =>
    findBooks([], { scope: { ...fullScope, all: false, ...scope } })

  test("limits rows and total", async () => {
    expect(await scoped({ orgs: ["a"] })).toEqual({ ids: "21", total: 2 })
    expect(await scoped({ orgs: ["a", "c"] })).toEqual({ ids: "251", total: 3 })
    expect(await scoped({ orgs: ["b"], self: "1" })).toEqual({ ids: "341", total: 3 })
  })
  test("without entries shows nothing, nor does one of columns that the table lacks", async () => {
    expect(await scoped({})).toEqual({ ids: "", total: 0 })
    expect(await scoped({ projects: ["a"], grants: ["a"] })).toEqual({ ids: "", total: 0 })
  })
  test("applies to every filter", async () => {
    const any: Filter = {
      any: [{ equals: "rank", value: 3 }, { not: { equals: "rank", value: 3 } }],
    }
    expect((await findBooks([any], { scope: { ...fullScope, all: false, orgs: ["c"] } })).ids).toBe(
      "5",
    )
  })
  test("is required: a search without one throws", async () => {
    const { scope: _, ...cx } = world.cx()
    await expect(search(cx, searchable, { page, filters: [] })).rejects.toThrow(
      /a search of books requires the caller's scope/,
    )
  })
})

describe("joined columns", () => {
  const joining: Searchable = {
    ...searchable,
    owner: { org: "org", otherOrg: "note" },
    joined: {
      select: "n.name AS ranked, n.name_folded AS ranked_folded",
      from: "LEFT JOIN books n ON n.instance = t.instance AND n.id = CAST(t.rank AS TEXT)",
      columns: ["ranked", "ranked_folded"],
    },
  }
  const joined = async (
    filters: readonly Filter[],
    over: { sort?: string; scope?: Scope } = {},
  ) => {
    const { scope = fullScope, ...query } = { page, filters, ...over }
    type SearchRow = { id: string; ranked: string }
    const { rows, total } = await search<SearchRow>(world.cx({ scope }), joining, query)
    return { rows: rows.map(({ id, ranked }) => `${id} ${ranked}`), total }
  }
  const [wool, score, emile] = ["100% Wool", "under_score", "Émile"]

  test("are returned in the order of the rows", async () => {
    const rows = [`2 ${wool}`, `3 ${score}`, `4 ${score}`, `5 ${score}`, `1 ${emile}`]
    expect(await joined([])).toEqual({ rows, total: 5 })
    expect(await joined([{ equals: "rank", value: 3 }])).toEqual({ rows: [`1 ${emile}`], total: 1 })
  })

  test("can be searched and sorted by", async () => {
    const found = await joined([{ text: "ranked", method: "equals", value: score }])
    expect(found).toEqual({ rows: [`3 ${score}`, `4 ${score}`, `5 ${score}`], total: 3 })
    const not: Filter = { not: { text: "ranked_folded", method: "starts_with", value: "u" } }
    expect((await joined([not])).rows).toEqual([`2 ${wool}`, `1 ${emile}`])
    expect((await joined([], { sort: "ranked" })).rows.at(-1)).toBe(`1 ${emile}`)
    await expect(joined([], { sort: "n.name" })).rejects.toThrow(
      "books is not searchable by n.name",
    )
  })

  test("respect the scope of a second organization", async () => {
    const scope = { ...fullScope, all: false, orgs: ["z", "b"] }
    const rows = [`3 ${score}`, `4 ${score}`, `5 ${score}`]
    expect(await joined([], { scope })).toEqual({ rows, total: 3 })
    expect(await joined([], { scope, sort: "ranked" })).toEqual({ rows, total: 3 })
  })
})

describe("texts", () => {
  const text = (method: "equals" | "starts_with" | "contains" | "ends_with", value: string) =>
    ids({ text: "name", method, value })

  test("compare by equality, prefix, substring, and suffix", async () => {
    expect(await text("equals", "wool")).toBe("5")
    expect(await text("starts_with", "under")).toBe("2")
    expect(await text("contains", "mil")).toBe("3")
    expect(await text("ends_with", "ool")).toBe("15")
  })
  test("treat wildcards and SQL characters literally", async () => {
    expect(await text("contains", "%")).toBe("1")
    expect(await text("contains", "_")).toBe("24")
    expect(await text("starts_with", "*")).toBe("")
    expect(await text("equals", "it's; DROP TABLE books_1 --")).toBe("4")
    expect(await text("contains", "' OR 1=1 --")).toBe("")
  })
  test("an empty value matches every text", async () => {
    expect(await text("starts_with", "")).toBe("12345")
    expect(await text("contains", "")).toBe("12345")
    expect(await text("ends_with", "")).toBe("12345")
  })
  test("ignore case in a folded column", async () => {
    expect(await ids({ text: "name_folded", method: "ends_with", value: "WOOL" })).toBe("15")
    expect(await ids({ text: "name_folded", method: "equals", value: "E\u0301MILE" })).toBe("3")
  })
})

test("conditions combine, and NULL does not match", async () => {
  expect(await ids({ compare: "rank", by: ">=", value: 2 }, { equals: "note", value: "y" })).toBe(
    "34",
  )
  expect(await ids({ not: { equals: "note", value: "y" } })).toBe("125")
  expect(
    await ids({
      not: {
        all: [
          { equals: "note", value: "y" },
          { equals: "rank", value: 3 },
        ],
      },
    }),
  ).toBe("12345")
  expect(await ids({ oneOf: "note", values: ["x", "z"] })).toBe("25")
  expect(await ids({ oneOf: "note", values: [] })).toBe("")
  expect([await ids({ all: [] }), await ids({ any: [] })]).toEqual(["12345", ""])
})

test("only declared columns can be searched and sorted by", async () => {
  for (const name of ["org", "instance", "1; DROP TABLE books_1", "rank DESC --"]) {
    await expect(ids({ equals: name, value: 1 })).rejects.toThrow(
      `books is not searchable by ${name}`,
    )
    await expect(findBooks([], { sort: name })).rejects.toThrow(
      `books is not searchable by ${name}`,
    )
  }
})

test("a search has at most a hundred conditions at any depth", async () => {
  const one: Filter = { equals: "rank", value: 1 }
  expect(await ids({ any: Array.from({ length: 99 }, () => one) })).toBe("2")
  await expect(ids({ any: Array.from({ length: 100 }, () => one) })).rejects.toThrow(/at most 100/)
  let deep: Filter = one
  for (let depth = 0; depth < 5000; depth++) deep = { not: deep }
  await expect(ids(deep)).rejects.toThrow(/at most 100/)
})
