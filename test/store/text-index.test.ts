import { Database } from "bun:sqlite"
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { fold, foldName } from "../../src/kernel/text/name.ts"
import { type TextIndex, textIndexOf } from "../../src/store/search/text/text-index.ts"
import { documentOf, normalized, trigramQuery } from "../../src/store/search/text/trigram.ts"
import { dice } from "../support/dice.ts"
import { temporaryFolder } from "../support/latchkey.ts"

let folder: ReturnType<typeof temporaryFolder>
let database: Database
let index: TextIndex
let position = 0
const table = { table: "thing_1", key: "id", columns: ["name", "nick"], types: ["thing.set"] }
const file = () => join(folder.path, "texts")

beforeEach(() => {
  folder = temporaryFolder()
  database = new Database(join(folder.path, "things"))
  position = 0
  database.run("CREATE TABLE event (position INTEGER PRIMARY KEY, instance, id, type)")
  database.run("CREATE TABLE name (code, name)")
  database.run("INSERT INTO name VALUES (1, 'thing.set'), (2, 'other.set')")
  database.run(
    "CREATE TABLE thing_1 (instance, id, name, nick, PRIMARY KEY (instance, id)) WITHOUT ROWID",
  )
  index = textIndexOf({ database, file: file(), rowsMin: 3 })
})
afterEach(() => {
  index.close()
  database.close()
  folder.remove()
})

function set(id: string, name: string | undefined, instance = "i1"): void {
  database.run("INSERT INTO event VALUES (?, ?, ?, 1)", [++position, instance, id])
  database.run("DELETE FROM thing_1 WHERE instance = ? AND id = ?", [instance, id])
  if (name === undefined) return
  database.run("INSERT INTO thing_1 VALUES (?, ?, ?, ?)", [instance, id, name, `nick of ${name}`])
}

const setMany = (count: number, instance = "i1") =>
  database.transaction(() => {
    for (let at = 0; at < count; at++) set(`${at}`.padStart(5, "0"), `name ${at}`, instance)
  })()

/** All that is to be done, and how often that was. */
function work(): number {
  let times = 1
  while (index.work([table])) times++
  return times
}

const found = (value: string, instance = "i1", most = 100) =>
  index.of("thing_1", instance)?.find(
    {
      name: "t0",
      comparisons: ["name", "nick"].map((column) => ({ column, method: "contains", value })),
    },
    most,
  )

/** The bytes of the file of the index, which has no name. */
function bytes(): Buffer {
  const [descriptor] = openDescriptors()
  return descriptor === undefined ? Buffer.of() : readFileSync(join("/proc/self/fd", descriptor))
}

/** What the index contains, read from its bytes as from a file of SQLite. */
function contents(): { readonly terms: readonly string[]; readonly documents: readonly string[] } {
  const copy = join(folder.path, "copy")
  writeFileSync(copy, bytes())
  using database = new Database(copy)
  database.run("CREATE VIRTUAL TABLE term USING fts5vocab(trigram, row)")
  const query = (sql: string) => database.query<{ text: string }, []>(sql).all()
  return {
    terms: query("SELECT term AS text FROM term").map(({ text }) => text),
    documents: query("SELECT texts AS text FROM document").map(({ text }) => text),
  }
}

test("only a long table has an index", () => {
  setMany(2)
  expect(work()).toBe(1)
  expect(index.of("thing_1", "i1")).toBeUndefined()
})

test("an index is made a little at a time, and finds what its table has", () => {
  setMany(5500)
  setMany(10, "i2")
  expect(work()).toBeGreaterThan(2)
  expect(index.of("thing_1", "i1")?.rows()).toBe(5500)
  expect(found("name 54")).toBeUndefined()
  expect(found("name 54", "i1", 111)).toHaveLength(111)
  expect(found("name 543")).toEqual(["00543", ...ten("0543")])
  expect(found("name 5", "i2")).toEqual(["00005"])
  expect(found("k of name 5432")).toEqual(["05432"])
  expect(found("nowhere")).toEqual([])
})

const ten = (start: string) =>
  Array.from({ length: 10 }, (_, last) => `${start.slice(1)}${last}`.padStart(5, "0"))

test("what changes is a candidate at once, and then found as it is", () => {
  setMany(5500)
  work()
  database.transaction(() => {
    set("00007", "renamed")
    set("02500", undefined)
    set("04999", "renamed")
    for (let at = 0; at < 3000; at++) set(`02500-${at}`, "one of many")
    set("99999", "renamed")
  })()
  set("1", "elsewhere", "i3")
  work()
  expect(index.of("thing_1", "i1")?.changed).toEqual([])
  expect(index.of("thing_1", "i1")?.rows()).toBe(8500)
  expect(found("renamed")).toEqual(["00007", "04999", "99999"])
  expect(found("one of many", "i1", 3000)).toHaveLength(3000)
  expect(found("name 2500")).toEqual([])
  expect(found("elsewhere", "i3")).toEqual(["1"])
})

test("more changes than are looked through make it of no use until it has them", () => {
  setMany(5500)
  work()
  for (let at = 0; at < 60; at++) set(`${at * 90}`.padStart(5, "0"), "renamed")
  const known = index.of("thing_1", "i1")
  expect(known?.changed.length).toBeGreaterThan(0)
  database.transaction(() => {
    for (let at = 0; at < 10_001; at++) set("00001", "again")
  })()
  expect(index.of("thing_1", "i1")).toBeUndefined()
  work()
  expect(found("again")).toEqual(["00001"])
})

test("a table that takes the place of another gets an index of its own", () => {
  setMany(10)
  work()
  database.run("ALTER TABLE thing_1 RENAME TO thing_2")
  const next = { ...table, table: "thing_2" }
  while (index.work([next]));
  expect(index.of("thing_1", "i1")).toBeUndefined()
  expect(index.of("thing_2", "i1")?.rows()).toBe(10)
})

test("a removed instance leaves nothing in the index, whatever it contained", () => {
  setMany(10)
  setMany(200, "i2")
  set("Wolpertinger", "Wolpertinger", "i2")
  work()
  database.run("DELETE FROM thing_1 WHERE instance = 'i2'")
  expect(purge()).toBeGreaterThan(2)
  expect(index.of("thing_1", "i1")?.rows()).toBe(10)
  expect(index.of("thing_1", "i2")?.rows()).toBe(0)
  expect(found("Wolpertinger", "i2")).toEqual([])
  expect(contents().documents).toHaveLength(10)
  expect(contents().terms).not.toContain("wol")
  expect(index.purge()).toBe(false)
})

test("without a removed instance of many rows the index is built again", () => {
  setMany(10)
  setMany(10_001, "i2")
  work()
  database.run("DELETE FROM thing_1 WHERE instance = 'i2'")
  expect(purge()).toBe(2)
  expect(openDescriptors()).toEqual([])
  work()
  expect(index.of("thing_1", "i1")?.rows()).toBe(10)
  expect(contents().documents).toHaveLength(10)
})

/** Removes all that is left of removed instances, and returns how often that had to be called. */
function purge(): number {
  let times = 1
  while (index.purge()) times++
  return times
}

test("of changed and removed rows no byte is left in the file", () => {
  setMany(700)
  const people = Array.from({ length: 40 }, (_, at) => `9-${at}`)
  for (const id of people) set(id, `Wolpertinger-${id} quixotic`)
  work()
  const isIn = (text: string) => bytes().includes(text)
  expect([isIn("wolpertinger"), isIn("quixotic")]).toEqual([true, true])
  const traces = ["wol", "olp", "qui", "uix", "xot"]
  expect(contents().terms).toEqual(expect.arrayContaining(traces))
  for (const id of people.slice(0, 20)) set(id, undefined)
  for (const id of people.slice(20)) set(id, "somebody")
  work()
  expect([isIn("wolpertinger"), isIn("quixotic")]).toEqual([false, false])
  for (const trace of traces) expect(contents().terms).not.toContain(trace)
  expect(found("somebody")).toHaveLength(20)
  expect(found("name 699")).toEqual(["00699"])
})

test("a file in its place is replaced, whatever it contains", () => {
  setMany(10)
  work()
  const before = bytes()
  for (const content of ["", "no database", before.subarray(0, before.length / 2)]) {
    index.close()
    writeFileSync(file(), content)
    index = textIndexOf({ database, file: file(), rowsMin: 3 })
    work()
    expect(found("name 7")).toEqual(["00007"])
    expect(existsSync(file())).toBe(false)
  }
})

const syllables = [
  "a",
  "Ann",
  "É",
  "e\u0301",
  "ß",
  "ΑΣ",
  "ς",
  "İ",
  "ﬁ",
  "한",
  "王",
  "\u{1F600}",
  "\u{10FFFF}",
  "\uE000",
  "%",
  "_",
  "*",
  "'",
  '"',
  '""',
  "(",
  "AND",
  " OR ",
  "NEAR(",
  ":",
  "-",
  "^",
  "\n",
  "\t",
  " ",
  "\0",
  "\u0001",
  "\uFFFD",
  "\uFFFE",
  "\\",
  "1",
  "@x.example",
]

test("every row that contains a text is found, in any script and with any characters", () => {
  const { next, pick } = dice(17)
  const word = (length: number) =>
    Array.from({ length: next(length) }, () => pick(syllables)).join("")
  const rows = new Map<string, string>()
  database.transaction(() => {
    for (let at = 0; at < 600; at++) {
      const name = pick([(text: string) => text, fold, foldName])(word(8))
      rows.set(`${at}`, name)
      set(`${at}`, name)
    }
  })()
  work()
  for (let time = 0; time < 3000; time++) {
    const [id, name] = pick([...rows])
    const characters = [...name]
    const from = next(characters.length + 1)
    const value = characters.slice(from, from + 1 + next(9)).join("")
    if (value !== "") expect(found(value, "i1", 600), JSON.stringify({ name, value })).toContain(id)
  }
})

test("a text of any length is found, and one that is in no row is not", () => {
  setMany(600)
  const long = Array.from({ length: 4096 }, (_, at) => String.fromCodePoint(97 + (at % 23))).join(
    "",
  )
  set("long", long)
  work()
  expect(found(long)).toEqual(["long"])
  expect(found(long.slice(1, 4000))).toEqual(["long"])
  for (const value of ["%", "_", '"', "'", "*", "name_1", "name%", 'name "1', "\u{1F600}"]) {
    expect(found(value), value).toEqual([])
  }
})

test("the texts of a row are indexed once, in lower-case ASCII", () => {
  expect(documentOf(["Ann", "ann", "ann@x.example", null, "", "É", "é"])).toBe(
    "ann@x.example\nÉ\né",
  )
  expect(normalized("A\0B\ud800")).toBe("ab\ufffd")
  expect(trigramQuery("ab")).toBeUndefined()
  expect(trigramQuery('A"B"')).toBe('"a""b" AND """b"""')
  expect(trigramQuery("한국어말")).toBe('"한국어" AND "국어말"')
})

test("its file has no name, and one that cannot be made leaves a table without", () => {
  setMany(10)
  work()
  expect(existsSync(file())).toBe(false)
  index.close()
  index = textIndexOf({ database, file: join(folder.path, "none", "texts"), rowsMin: 3 })
  expect(work()).toBe(1)
  expect(index.of("thing_1", "i1")).toBeUndefined()
})

/** Where an open file is; that of the folder which names it is closed by now. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ""
  }
}

const openDescriptors = () =>
  readdirSync("/proc/self/fd").filter((each) =>
    linkOf(join("/proc/self/fd", each)).startsWith(file()),
  )

test("the room that it takes on the disk is given back at once when it is let go of", () => {
  setMany(2500)
  work()
  set("00001", "renamed")
  work()
  expect(found("renamed")).toEqual(["00001"])
  expect(openDescriptors()).toHaveLength(1)
  index.close()
  expect(openDescriptors()).toEqual([])
})
