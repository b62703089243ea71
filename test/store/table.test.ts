import { Database } from "bun:sqlite"
import { beforeEach, describe, expect, test } from "vitest"
import {
  blob,
  bool,
  type ChangesOf,
  codec,
  integer,
  json,
  nullable,
  type RowOf,
  statement,
  table,
  text,
  view,
  wordList,
} from "../../src/store/index.ts"
import { createTables } from "../../src/store/view/generation.ts"
import { createHandle, type TableHandle } from "../../src/store/view/handle.ts"
import { createTableStatements } from "../../src/store/view/view.ts"

const bookTable = table(
  "books",
  {
    id: text(),
    org: text(),
    state: text<"lent" | "here">(),
    pages: integer(),
    cover: blob(),
    signed: bool(),
    tags: wordList(),
    shelf: json<{ readonly room: number; readonly row: string }>(),
    isbn: nullable(text()),
    checked: nullable(bool()),
    copies: nullable(json<readonly number[]>()),
    price: codec(
      (cents: number) => `${cents} cents`,
      (stored) => Number.parseInt(stored, 10),
    ),
    // Names that events have, too.
    version: integer(),
    time: integer(),
  },
  {
    key: ["org", "id"],
    indexes: { state: ["state", "pages"], pages: ["pages"] },
    dominant: { state: "here" },
    unique: { isbn: ["isbn"] },
    texts: ["org", "isbn"],
  },
)
type Book = RowOf<typeof bookTable>

const book: Book = {
  id: "b1",
  org: "o1",
  state: "here",
  pages: 100,
  cover: new Uint8Array([1, 2]),
  signed: true,
  tags: ["red", "thin"],
  shelf: { room: 1, row: "a" },
  isbn: null,
  checked: null,
  copies: null,
  price: 995,
  version: 7,
  time: 8,
}

const library = view({ name: "library", tables: [bookTable], on: {} })
const event = { id: "stream", version: 1, position: 2, time: 3, owner: "owner" }

let database: Database
let handle: TableHandle
const db = (instance = "i1") => handle.writer({ ...event, instance })
const all = bookTable.select("*", "ORDER BY id")
const books = (instance = "i1") => handle.all(all, { instance })
const listRows = () => database.query("SELECT * FROM books_1 ORDER BY instance, id").all()

beforeEach(() => {
  database = new Database(":memory:", { strict: true })
  handle = createHandle(database, [createTables(database, library)])
})

describe("a declaration", () => {
  test("produces the DDL of the table and its indexes", () => {
    expect(
      createTableStatements("books_1", bookTable.layout).map((sql) => sql.replaceAll(/\s+/g, " ")),
    ).toEqual([
      "CREATE TABLE books_1 (instance TEXT NOT NULL, id TEXT NOT NULL, org TEXT NOT NULL, " +
        "state TEXT NOT NULL, pages INTEGER NOT NULL, cover BLOB NOT NULL, " +
        "signed INTEGER NOT NULL, tags TEXT NOT NULL, shelf TEXT NOT NULL, isbn TEXT, " +
        "checked INTEGER, copies TEXT, price TEXT NOT NULL, version INTEGER NOT NULL, " +
        "time INTEGER NOT NULL, PRIMARY KEY (instance, org, id)) WITHOUT ROWID",
      "CREATE INDEX books_1_state ON books_1 (instance, state, pages) WHERE state <> 'here'",
      "CREATE INDEX books_1_pages ON books_1 (instance, pages)",
      "CREATE UNIQUE INDEX books_1_isbn ON books_1 (instance, isbn)",
    ])
    expect(library.texts).toEqual({ books: ["org", "isbn"] })
  })

  test("produces a hash that depends on every column, key, and index, and nothing else", () => {
    const hashOf = (columns: Parameters<typeof table>[1], options: { key: string[] }) =>
      view({ name: "v", tables: [table("t", columns, options)], on: {} }).hash
    const base = hashOf({ id: text(), n: integer() }, { key: ["id"] })
    const others = [
      hashOf({ id: text() }, { key: ["id"] }),
      hashOf({ n: integer(), id: text() }, { key: ["id"] }),
      hashOf({ id: text(), n: nullable(integer()) }, { key: ["id"] }),
      hashOf({ id: text(), n: text() }, { key: ["id"] }),
      hashOf({ id: text(), m: integer() }, { key: ["id"] }),
      hashOf({ id: text(), n: integer() }, { key: ["id", "n"] }),
    ]
    expect(new Set([base, ...others]).size).toBe(7)
    expect(hashOf({ id: text<"a">(), n: bool() }, { key: ["id"] })).toBe(base)
  })

  test("accepts only existing columns and values of their types", () => {
    // @ts-expect-error: the column is unknown.
    table("t", { id: text() }, { key: ["key"] })
    // @ts-expect-error: the column is unknown.
    table("t", { id: text() }, { key: ["id"], indexes: { name: ["name"] } })
    // @ts-expect-error: the column is unknown.
    bookTable.searchable({ columns: ["name"], owner: {}, key: "id", sort: "pages" })
    // @ts-expect-error: the column is unknown.
    bookTable.searchable({ columns: ["pages"], owner: { org: "owner" }, key: "id", sort: "pages" })
    // @ts-expect-error: the column is unknown.
    bookTable.select(["name"])
    // @ts-expect-error: a state lacks the value.
    const state: Book["state"] = "lost"
    // @ts-expect-error: not null.
    const pages: Book["pages"] = null
    // @ts-expect-error: decoded.
    const tags: Book["tags"] = "red thin"
    // @ts-expect-error: read-only.
    const rename = (row: Book) => (row.id = "b2")
    const isbn: Book["isbn"] = null
    const changes: ChangesOf<typeof bookTable> = { isbn, pages: undefined }
    expect([state, pages, tags, rename, changes]).toHaveLength(5)
  })
})

describe("rows", () => {
  test("are read as inserted, and stored as their columns encode them", () => {
    bookTable.insert(db(), book)
    expect(books()).toEqual([book])
    expect(listRows()).toEqual([
      {
        ...book,
        instance: "i1",
        signed: 1,
        tags: "red thin",
        shelf: '{"room":1,"row":"a"}',
        price: "995 cents",
      },
    ])
    const full: Book = { ...book, id: "b2", isbn: "1", checked: false, copies: [1], tags: [] }
    bookTable.insert(db(), full)
    expect(books()).toEqual([book, full])
  })

  test("belong to the instance of the event", () => {
    bookTable.insert(db("i1"), book)
    bookTable.insert(db("i2"), book)
    bookTable.update(db("i1"), { id: "b1" }, { pages: 1 })
    bookTable.remove(db("i2"), {})
    expect(books("i1")).toEqual([{ ...book, pages: 1 }])
    expect(books("i2")).toEqual([])
  })

  test("are not completed from the event", () => {
    const { id: _, ...lacking } = book
    // @ts-expect-error: there is no id.
    expect(() => bookTable.insert(db(), lacking)).toThrow("missing value for id of table books")
    // @ts-expect-error: not undefined.
    expect(() => bookTable.insert(db(), { ...book, version: undefined })).toThrow("version")
    // @ts-expect-error: not undefined.
    expect(() => bookTable.remove(db(), { id: undefined })).toThrow(
      "missing value for id of table books",
    )
    // @ts-expect-error: nothing equals NULL.
    bookTable.remove(db(), { isbn: null })
    // @ts-expect-error: not undefined.
    expect(() => bookTable.update(db(), { id: undefined }, { pages: 1 })).toThrow(
      "missing value for id of table books",
    )
    expect(listRows()).toEqual([])
  })

  test("have only the columns of their table", () => {
    // @ts-expect-error: the column is unknown.
    const insert = () => bookTable.insert(db(), { ...book, name: "b" })
    // @ts-expect-error: the column is unknown.
    const update = () => bookTable.update(db(), { id: "b1" }, { name: "b" })
    // @ts-expect-error: the column is unknown.
    const remove = () => bookTable.remove(db(), { "1=1; --": "b" })
    for (const refused of [insert, update, remove]) {
      expect(refused).toThrow(/unknown column (name|1=1; --) of table books/)
    }
  })

  test("are rejected if the column can't be NULL", () => {
    // @ts-expect-error: not null.
    expect(() => bookTable.insert(db(), { ...book, pages: null })).toThrow("NOT NULL")
  })

  test("are not inserted twice, except by an upsert", () => {
    bookTable.insert(db(), book)
    expect(() => bookTable.insert(db(), { ...book, pages: 2 })).toThrow("UNIQUE")
    bookTable.insertIfAbsent(db(), { ...book, pages: 2 })
    expect(books()).toEqual([book])
    bookTable.upsert(db(), { ...book, pages: 3, tags: ["blue"], signed: false }, ["pages", "tags"])
    expect(books()).toEqual([{ ...book, pages: 3, tags: ["blue"] }])
    bookTable.upsert(db(), { ...book, id: "b2" }, ["pages"])
    expect(books()).toHaveLength(2)
    // @ts-expect-error: the column is unknown.
    expect(() => bookTable.upsert(db(), book, ["name"])).toThrow("name")
  })
})

describe("an update", () => {
  beforeEach(() => {
    bookTable.insert(db(), { ...book, isbn: "1", checked: true })
    bookTable.insert(db(), { ...book, id: "b2", signed: false })
  })

  test("changes only the given values, including NULL", () => {
    bookTable.update(
      db(),
      { id: "b1" },
      { isbn: null, checked: null, shelf: { room: 2, row: "b" } },
    )
    expect(books()[0]).toEqual({ ...book, shelf: { room: 2, row: "b" } })
    bookTable.update(db(), { id: "b1" }, { pages: 5, isbn: undefined, checked: undefined })
    expect(books()[0]).toEqual({ ...book, shelf: { room: 2, row: "b" }, pages: 5 })
  })

  test("without values does nothing", () => {
    const before = books()
    bookTable.update(db(), { id: "b1" }, {})
    bookTable.update(db(), {}, { pages: undefined })
    expect(books()).toEqual(before)
  })

  test("applies to rows that match all encoded values of the condition", () => {
    bookTable.update(db(), { org: "o1", signed: false }, { pages: 9 })
    bookTable.update(db(), { id: "b1", tags: ["red", "thin"] }, { id: "b3" })
    expect(books().map(({ id, pages }) => [id, pages])).toEqual([
      ["b2", 9],
      ["b3", 100],
    ])
    bookTable.remove(db(), { shelf: { room: 1, row: "a" }, id: "b3" })
    expect(books().map(({ id }) => id)).toEqual(["b2"])
  })
})

test("a list of columns is decoded, and contains only these", () => {
  bookTable.insert(db(), book)
  const some = bookTable.select(["signed", "tags"], "AND pages > $pages")
  expect(handle.get(some, { instance: "i1" }, { pages: 1 })).toEqual({
    signed: true,
    tags: ["red", "thin"],
  })
  expect(handle.get(some, { instance: "i1" }, { pages: 100 })).toBeUndefined()
  // @ts-expect-error: the pages were not read.
  expect(handle.get(some, { instance: "i1" }, { pages: 1 })?.pages).toBeUndefined()
})

test("a table without codecs decodes nothing", () => {
  const plain = table("plain", { id: text() }, { key: ["id"] })
  expect(plain.select("*").decode).toBeUndefined()
  const row = { id: "1" }
  expect(plain.decode(row)).toBe(row)
})

test("a statement receives exactly its parameters", () => {
  const move = statement("UPDATE books SET id = $id WHERE instance = $instance AND org = $org")
  bookTable.insert(db(), book)
  for (const [before, after] of [
    [[], []],
    [["b2"], []],
    [["b2"], ["o1", "o1"]],
  ]) {
    expect(() => db().write(move, before ?? [], after ?? [])).toThrow("expected 3 values")
  }
  db().write(move, ["b2"], ["o1"])
  expect(listRows()).toMatchObject([{ id: "b2" }])
})
