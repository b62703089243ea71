import { Database } from "bun:sqlite"
import { existsSync, readdirSync, readlinkSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { blockOf, findIn, soughtOf, textsAt } from "../../src/store/search/text/text-block.ts"
import { type TextIndex, textIndexOf } from "../../src/store/search/text/text-index.ts"
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

const found = (value: string, columns = ["name"], instance = "i1") =>
  index.of("thing_1", instance)?.find(
    {
      name: "t0",
      texts: columns.map((column) => ({ column, method: "contains", value })),
      isAnywhere: true,
    },
    { most: 100, isCounted: true },
  )

test("texts of a block are found as they are compared one by one", () => {
  const { next, pick } = dice(17)
  const word = () =>
    Array.from({ length: next(4) }, () => pick(["a", "b", "é", "\0", "ÿ"])).join("")
  const methods = {
    equals: (text: string, value: string) => text === value,
    starts_with: (text: string, value: string) => text.startsWith(value),
    ends_with: (text: string, value: string) => text.endsWith(value),
    contains: (text: string, value: string) => text.includes(value),
  } as const
  for (let time = 0; time < 5000; time++) {
    const texts = Array.from({ length: next(6) }, word)
    const block = blockOf(texts)
    expect(textsAt(block, texts.keys())).toEqual(texts)
    const value = `${word()}${pick(["a", "é"])}`
    const method = pick(["equals", "starts_with", "ends_with", "contains"] as const)
    const rows = new Set<number>()
    findIn(block, soughtOf(value, method), rows)
    const wanted = texts.flatMap((text, at) => (methods[method](text, value) ? [at] : []))
    expect([...rows], JSON.stringify({ texts, method, value })).toEqual(wanted)
  }
})

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
  expect(found("name 54")?.total).toBe(111)
  expect(found("name 54")?.keys).toBeUndefined()
  expect(found("name 543")?.keys).toEqual(["00543", ...ten("0543")])
  expect(found("name 5", ["name"], "i2")?.keys).toEqual(["00005"])
  expect(found("k of name 5432", ["name", "nick"])?.keys).toEqual(["05432"])
  expect(found("nowhere")).toEqual({ total: 0, keys: [] })
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
  expect(found("renamed")?.keys).toEqual(["00007", "04999", "99999"])
  expect(found("one of many")?.total).toBe(3000)
  expect(found("name 2500")?.total).toBe(0)
  expect(found("elsewhere", ["name"], "i3")?.keys).toEqual(["1"])
})

test("more changes than are looked through make it of no use until it has them", () => {
  setMany(5500)
  work()
  for (let at = 0; at < 5; at++) set(`0${at}500`, "renamed")
  const known = index.of("thing_1", "i1")
  expect(known?.changed.length).toBeGreaterThan(0)
  database.transaction(() => {
    for (let at = 0; at < 10_001; at++) set("00001", "again")
  })()
  expect(index.of("thing_1", "i1")).toBeUndefined()
  work()
  expect(found("again")?.keys).toEqual(["00001"])
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

test("an instance that is gone is let go of", () => {
  setMany(10)
  setMany(10, "i2")
  work()
  database.run("DELETE FROM thing_1 WHERE instance = 'i2'")
  index.purge()
  expect(index.of("thing_1", "i1")?.rows()).toBe(10)
  expect(index.of("thing_1", "i2")?.rows()).toBe(0)
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

test("the room that it takes on the disk is given back at once when it is let go of", () => {
  const open = () =>
    readdirSync("/proc/self/fd").filter((each) =>
      linkOf(join("/proc/self/fd", each)).startsWith(file()),
    )
  setMany(2500)
  work()
  set("00001", "renamed")
  work()
  expect(found("renamed")?.keys).toEqual(["00001"])
  expect(open()).toHaveLength(1)
  index.close()
  expect(open()).toEqual([])
})
