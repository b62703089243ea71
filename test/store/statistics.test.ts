// A table of one instance is long, and SQLite's planner has to be told so.
import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { Store, View } from "../../src/store/index.ts"
import { openWorld } from "../support/world.ts"
import { accounts, modules, openAccount, openFile, temporaryFile } from "./account.ts"

let file: string
let remove: () => void
let store: Store
beforeEach(async () => {
  const made = temporaryFile()
  file = made.file
  remove = made.remove
  store = openFile(file)
  await openAccount({ ...openWorld(modules).cx(), store }, "1", { name: "one" })
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

/** How SQLite finds an account by its name, in a connection of its own. */
function plan(generation: number): string {
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

test("a row is found by the index that fits, not by walking through its instance", () => {
  expect(plan(1)).toEqual(byIndex(1))
})

test("so it is in the tables that a rebuild makes", async () => {
  await reopen([{ ...accounts, hash: "anew" }])
  expect(plan(2)).toEqual(byIndex(2))
})

test("and in a database that was made before anybody told it", async () => {
  store.database.run("DELETE FROM sqlite_stat1")
  await reopen([accounts])
  expect(plan(1)).toEqual(byIndex(1))
})

test("what is known of a table goes with it", async () => {
  await reopen([])
  expect(store.database.query("SELECT * FROM sqlite_stat1").all()).toEqual([])
})
