// A table of one instance is long, which SQLite's planner must be able to see.
import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { Store, View } from "../../src/store/index.ts"
import { openTestEnvironment } from "../support/test-environment.ts"
import { accounts, modules, openAccount, openFile, temporaryFile } from "./account.ts"

let file: string
let remove: () => void
let store: Store
beforeEach(async () => {
  const made = temporaryFile()
  file = made.file
  remove = made.remove
  store = openFile(file)
  await openAccount({ ...openTestEnvironment(modules).cx(), store }, "1", { name: "one" })
})
afterEach(async () => {
  await store.close()
  remove()
})

async function reopen(views: readonly View[]): Promise<void> {
  await store.close()
  store = openFile(file, { views })
  await store.rebuilt()
}

/** The query plan for an account by its name, in a separate connection. */
function queryPlan(generation: number): string {
  const database = new Database(file, { readonly: true })
  const rows = database.query<{ detail: string }, []>(
    `EXPLAIN QUERY PLAN
     DELETE FROM accounts_${generation} WHERE instance = 'i1' AND name = 'one'`,
  )
  const details = rows.all().map(({ detail }) => detail)
  database.close()
  return details.join()
}

const byIndex = (generation: number) =>
  expect.stringContaining(`INDEX accounts_${generation}_by_name (instance=? AND name=?)`)

test("a row is found by the matching index, not by a scan of its instance", () => {
  expect(queryPlan(1)).toEqual(byIndex(1))
})

test("the same applies to tables of a rebuild", async () => {
  await reopen([{ ...accounts, hash: "anew" }])
  expect(queryPlan(2)).toEqual(byIndex(2))
})

test("and to a database from before the statistics existed", async () => {
  store.database.run("DELETE FROM sqlite_stat1")
  await reopen([accounts])
  expect(queryPlan(1)).toEqual(byIndex(1))
})

test("the statistics of a table are removed with it", async () => {
  await reopen([])
  expect(store.database.query("SELECT * FROM sqlite_stat1").all()).toEqual([])
})
