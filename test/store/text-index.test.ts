import { Database } from "bun:sqlite"
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { fold, foldName } from "../../src/kernel/text/name.ts"
import { createTextIndex, type TextIndex } from "../../src/store/search/text/text-index.ts"
import { createDocument, normalize, trigramQuery } from "../../src/store/search/text/trigram.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { seededRandom } from "../support/seeded-random.ts"

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
  index = createTextIndex({ database, file: file(), rowsMin: 3 })
})
afterEach(() => {
  index.close()
  database.close()
  folder.remove()
})

function setRow(id: string, name: string | undefined, instance = "i1"): void {
  database.run("INSERT INTO event VALUES (?, ?, ?, 1)", [++position, instance, id])
  database.run("DELETE FROM thing_1 WHERE instance = ? AND id = ?", [instance, id])
  if (name === undefined) return
  database.run("INSERT INTO thing_1 VALUES (?, ?, ?, ?)", [instance, id, name, `nick of ${name}`])
}

const setThings = (count: number, instance = "i1") =>
  database.transaction(() => {
    for (let at = 0; at < count; at++) setRow(`${at}`.padStart(5, "0"), `name ${at}`, instance)
  })()

/** Runs all pending work, and returns the number of steps. */
function runPending(): number {
  let times = 1
  while (index.work([table])) times++
  return times
}

const findCandidates = (value: string, instance = "i1", most = 100) =>
  index.of("thing_1", instance)?.find(
    {
      name: "t0",
      comparisons: ["name", "nick"].map((column) => ({ column, method: "contains", value })),
    },
    most,
  )

/** The bytes of the unlinked index file. */
function indexBytes(): Buffer {
  const [descriptor] = openDescriptors()
  return descriptor === undefined ? Buffer.of() : readFileSync(join("/proc/self/fd", descriptor))
}

/** The content of the index, read from its bytes as an SQLite file. */
function indexContents(): {
  readonly terms: readonly string[]
  readonly documents: readonly string[]
} {
  const copy = join(folder.path, "copy")
  writeFileSync(copy, indexBytes())
  using database = new Database(copy)
  database.run("CREATE VIRTUAL TABLE term USING fts5vocab(trigram, row)")
  const query = (sql: string) => database.query<{ text: string }, []>(sql).all()
  return {
    terms: query("SELECT term AS text FROM term").map(({ text }) => text),
    documents: query("SELECT texts AS text FROM document").map(({ text }) => text),
  }
}

test("only a long table has an index", () => {
  setThings(2)
  expect(runPending()).toBe(1)
  expect(index.of("thing_1", "i1")).toBeUndefined()
})

test("an index is built in small steps, and finds the rows of its table", () => {
  setThings(5500)
  setThings(10, "i2")
  expect(runPending()).toBeGreaterThan(2)
  expect(index.of("thing_1", "i1")?.rows()).toBe(5500)
  expect(findCandidates("name 54")).toBeUndefined()
  expect(findCandidates("name 54", "i1", 111)).toHaveLength(111)
  expect(findCandidates("name 543")).toEqual(["00543", ...createTenWordText("0543")])
  expect(findCandidates("name 5", "i2")).toEqual(["00005"])
  expect(findCandidates("k of name 5432")).toEqual(["05432"])
  expect(findCandidates("nowhere")).toEqual([])
})

const createTenWordText = (start: string) =>
  Array.from({ length: 10 }, (_, last) => `${start.slice(1)}${last}`.padStart(5, "0"))

test("a changed row is a candidate immediately, and then indexed", () => {
  setThings(5500)
  runPending()
  database.transaction(() => {
    setRow("00007", "renamed")
    setRow("02500", undefined)
    setRow("04999", "renamed")
    for (let at = 0; at < 3000; at++) setRow(`02500-${at}`, "one of many")
    setRow("99999", "renamed")
  })()
  setRow("1", "elsewhere", "i3")
  runPending()
  expect(index.of("thing_1", "i1")?.changedKeys).toEqual([])
  expect(index.of("thing_1", "i1")?.rows()).toBe(8500)
  expect(findCandidates("renamed")).toEqual(["00007", "04999", "99999"])
  expect(findCandidates("one of many", "i1", 3000)).toHaveLength(3000)
  expect(findCandidates("name 2500")).toEqual([])
  expect(findCandidates("elsewhere", "i3")).toEqual(["1"])
})

test("too many pending changes make it unusable until they are indexed", () => {
  setThings(5500)
  runPending()
  for (let at = 0; at < 60; at++) setRow(`${at * 90}`.padStart(5, "0"), "renamed")
  const known = index.of("thing_1", "i1")
  expect(known?.changedKeys.length).toBeGreaterThan(0)
  database.transaction(() => {
    for (let at = 0; at < 10_001; at++) setRow("00001", "again")
  })()
  expect(index.of("thing_1", "i1")).toBeUndefined()
  runPending()
  expect(findCandidates("again")).toEqual(["00001"])
})

test("a replaced table gets its own index", () => {
  setThings(10)
  runPending()
  database.run("ALTER TABLE thing_1 RENAME TO thing_2")
  const next = { ...table, table: "thing_2" }
  while (index.work([next]));
  expect(index.of("thing_1", "i1")).toBeUndefined()
  expect(index.of("thing_2", "i1")?.rows()).toBe(10)
})

test("a removed instance leaves nothing in the index", () => {
  setThings(10)
  setThings(200, "i2")
  setRow("Wolpertinger", "Wolpertinger", "i2")
  runPending()
  database.run("DELETE FROM thing_1 WHERE instance = 'i2'")
  expect(purgeRemoved()).toBeGreaterThan(2)
  expect(index.of("thing_1", "i1")?.rows()).toBe(10)
  expect(index.of("thing_1", "i2")?.rows()).toBe(0)
  expect(findCandidates("Wolpertinger", "i2")).toEqual([])
  expect(indexContents().documents).toHaveLength(10)
  expect(indexContents().terms).not.toContain("wol")
  expect(index.purge()).toBe(false)
})

test("removing an instance with many rows rebuilds the index", () => {
  setThings(10)
  setThings(10_001, "i2")
  runPending()
  database.run("DELETE FROM thing_1 WHERE instance = 'i2'")
  expect(purgeRemoved()).toBe(2)
  expect(openDescriptors()).toEqual([])
  runPending()
  expect(index.of("thing_1", "i1")?.rows()).toBe(10)
  expect(indexContents().documents).toHaveLength(10)
})

/** Removes all remains of removed instances, and returns the number of steps. */
function purgeRemoved(): number {
  let times = 1
  while (index.purge()) times++
  return times
}

test("changed and removed rows leave no bytes in the file", () => {
  setThings(700)
  const people = Array.from({ length: 40 }, (_, at) => `9-${at}`)
  for (const id of people) setRow(id, `Wolpertinger-${id} quixotic`)
  runPending()
  const isIn = (text: string) => indexBytes().includes(text)
  expect([isIn("wolpertinger"), isIn("quixotic")]).toEqual([true, true])
  const traces = ["wol", "olp", "qui", "uix", "xot"]
  expect(indexContents().terms).toEqual(expect.arrayContaining(traces))
  for (const id of people.slice(0, 20)) setRow(id, undefined)
  for (const id of people.slice(20)) setRow(id, "somebody")
  runPending()
  expect([isIn("wolpertinger"), isIn("quixotic")]).toEqual([false, false])
  for (const trace of traces) expect(indexContents().terms).not.toContain(trace)
  expect(findCandidates("somebody")).toHaveLength(20)
  expect(findCandidates("name 699")).toEqual(["00699"])
})

test("a file at its path is replaced, whatever it contains", () => {
  setThings(10)
  runPending()
  const before = indexBytes()
  for (const content of ["", "no database", before.subarray(0, before.length / 2)]) {
    index.close()
    writeFileSync(file(), content)
    index = createTextIndex({ database, file: file(), rowsMin: 3 })
    runPending()
    expect(findCandidates("name 7")).toEqual(["00007"])
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

test("finds every row that contains a text, in any script and with any characters", () => {
  const { next, pick } = seededRandom(17)
  const word = (length: number) =>
    Array.from({ length: next(length) }, () => pick(syllables)).join("")
  const rows = new Map<string, string>()
  database.transaction(() => {
    for (let at = 0; at < 600; at++) {
      const name = pick([(text: string) => text, fold, foldName])(word(8))
      rows.set(`${at}`, name)
      setRow(`${at}`, name)
    }
  })()
  runPending()
  for (let time = 0; time < 3000; time++) {
    const [id, name] = pick([...rows])
    const characters = [...name]
    const from = next(characters.length + 1)
    const value = characters.slice(from, from + 1 + next(9)).join("")
    if (value !== "")
      expect(findCandidates(value, "i1", 600), JSON.stringify({ name, value })).toContain(id)
  }
})

test("finds a text of any length, and none that is in no row", () => {
  setThings(600)
  const long = Array.from({ length: 4096 }, (_, at) => String.fromCodePoint(97 + (at % 23))).join(
    "",
  )
  setRow("long", long)
  runPending()
  expect(findCandidates(long)).toEqual(["long"])
  expect(findCandidates(long.slice(1, 4000))).toEqual(["long"])
  for (const value of ["%", "_", '"', "'", "*", "name_1", "name%", 'name "1', "\u{1F600}"]) {
    expect(findCandidates(value), value).toEqual([])
  }
})

test("the texts of a row are indexed once, in lowercase ASCII", () => {
  expect(createDocument(["Ann", "ann", "ann@x.example", null, "", "É", "é"])).toBe(
    "ann@x.example\nÉ\né",
  )
  expect(normalize("A\0B\ud800")).toBe("ab\ufffd")
  expect(trigramQuery("ab")).toBeUndefined()
  expect(trigramQuery('A"B"')).toBe('"a""b" AND """b"""')
  expect(trigramQuery("한국어말")).toBe('"한국어" AND "국어말"')
})

test("its file is unlinked, and a table works without one", () => {
  setThings(10)
  runPending()
  expect(existsSync(file())).toBe(false)
  index.close()
  index = createTextIndex({ database, file: join(folder.path, "none", "texts"), rowsMin: 3 })
  expect(runPending()).toBe(1)
  expect(index.of("thing_1", "i1")).toBeUndefined()
})

/** The path of an open file; the directory listing's own descriptor is closed by now. */
function readLink(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ""
  }
}

const openDescriptors = () =>
  readdirSync("/proc/self/fd").filter((each) =>
    readLink(join("/proc/self/fd", each)).startsWith(file()),
  )

test("its disk space is released immediately when it is closed", () => {
  setThings(2500)
  runPending()
  setRow("00001", "renamed")
  runPending()
  expect(findCandidates("renamed")).toEqual(["00001"])
  expect(openDescriptors()).toHaveLength(1)
  index.close()
  expect(openDescriptors()).toEqual([])
})
