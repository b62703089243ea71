// The reader thread ends while there are no searches, and the next search starts another.
import { Database } from "bun:sqlite"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { createReader, type Reader } from "../../src/store/search/reader.ts"
import { readerThread } from "../../src/store/search/thread.ts"
import { temporaryFolder } from "../support/latchkey.ts"

let folder: ReturnType<typeof temporaryFolder>
let reader: Reader
let started: number
let ended: number

beforeEach(() => {
  folder = temporaryFolder()
  ;[started, ended] = [0, 0]
  const file = join(folder.path, "things")
  using database = new Database(file)
  database.run("CREATE TABLE event (position INTEGER PRIMARY KEY, instance, id, type)")
  database.run("INSERT INTO event VALUES (1, 'i', 'a', 1)")
  database.run("CREATE TABLE name (code, name)")
  database.run("CREATE TABLE thing (instance, id, name, PRIMARY KEY (instance, id)) WITHOUT ROWID")
  database.run("INSERT INTO thing VALUES ('i', 'a', 'Ada'), ('i', 'b', 'Bob'), ('i', 'c', 'Cy')")
  reader = createReader({ file, rowsMin: 3, thread: countedThread })
})
afterEach(async () => {
  await reader.close()
  folder.remove()
})

function countedThread(): Worker {
  started++
  const thread = readerThread()
  thread.addEventListener("close", () => ended++)
  return thread
}

const tables = { thing: { table: "thing", key: "id", columns: ["name"], types: [] } }

/** Searches all things; with `indexed`, in a table that gets a text index. */
const searchThings = (indexed = false) => {
  const sql = "SELECT id AS key FROM thing WHERE instance = $instance"
  const plan = { keys: sql, total: sql, few: sql, many: sql }
  const none = { back: undefined, seen: undefined, taken: undefined }
  const request = { values: { instance: "i" }, limit: 10, offset: 0, most: 10 }
  return reader.read(
    { plan: { ...plan, ...none }, ...request, total: undefined, seen: undefined, texts: undefined },
    {
      physical: (query) => query.sql,
      tables: () => (indexed ? tables : {}),
      isLate: () => false,
    },
  )
}

test("an idle thread ends, and another handles the next search", async () => {
  const first = await searchThings()
  expect(first.total).toBe(3)
  await reader.endIdleThread()
  expect([started, ended]).toEqual([1, 1])
  expect(await searchThings()).toEqual(first)
  expect([started, ended]).toEqual([2, 1])
})

test("pending searches finish before the thread ends, later ones use another", async () => {
  await searchThings()
  const before = [searchThings(), searchThings()]
  const end = reader.endIdleThread()
  const after = [searchThings(), searchThings()]
  const totals = (await Promise.all([...before, ...after])).map(({ total }) => total)
  await end
  expect(totals).toEqual([3, 3, 3, 3])
  expect(started).toBe(2)
})

test("no thread is started only to be ended", async () => {
  await reader.endIdleThread()
  expect(started).toBe(0)
})

test("a thread with an index is kept", async () => {
  await searchThings(true)
  // The index is built after the search, before a later thread can end.
  await reader.scrub(() => tables)
  await reader.endIdleThread()
  expect([started, ended]).toEqual([1, 0])
})
