// A changed view is rebuilt next to the old one, which serves meanwhile.
import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { Store, View } from "../../src/store/index.ts"
import { cacheQuery, statement, table, text, view } from "../../src/store/index.ts"
import type { TableLayout } from "../../src/store/view/view.ts"
import { openTestEnvironment } from "../support/test-environment.ts"
import { pause } from "../support/wait.ts"
import {
  type AccountEvent,
  accounts,
  allAccounts,
  eraseAccount,
  modules,
  moveAccount,
  openAccount,
  openFile,
  renameAccount,
  temporaryFile,
} from "./account.ts"

let file: string
let remove: () => void
let store: Store
beforeEach(async () => {
  const made = temporaryFile()
  file = made.file
  remove = made.remove
  store = openFile(file)
  for (let n = 10; n < 40; n++) await openAccount(cx(), `${n}`, { name: `name${n}` })
  await renameAccount(cx(), "11", "renamed")
  await moveAccount(cx(), "12", "moved@example.com")
  await eraseAccount(cx(), "13")
})
afterEach(async () => {
  await store.close()
  remove()
})

/** A call on the current store. */
const cx = () => ({ ...calls.cx(), store })
const calls = openTestEnvironment(modules)
const rows = () => store.all(cx(), allAccounts)

async function reopen(
  views: readonly View[],
  notReady?: (view: string, cause: unknown) => void,
  ready?: (view: string) => void,
) {
  await store.close()
  store = openFile(file, { views, ...(notReady && { notReady }), ...(ready && { ready }) })
}

const tablesOf = (database: Database) =>
  database
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB '*_[0-9]*'",
    )
    .all()
    .map((row) => row.name)

/** The view of accounts with another table and matching reducers and columns. */
function changedView(layout: TableLayout, insert: string, on = {}): View {
  const opened = statement(insert)
  return view<AccountEvent>({
    name: "account",
    tables: [{ name: "accounts", layout, texts: [] }],
    on: {
      "account.opened": (db, { data, private: secret }) =>
        db.run(opened, { name: data.name, email: secret?.email ?? "" }),
      ...on,
    },
  })
}

describe("a changed view", () => {
  const added = changedView(
    {
      columns: `id TEXT NOT NULL, name TEXT NOT NULL, email TEXT, changed INTEGER NOT NULL,
        shout TEXT NOT NULL DEFAULT ''`,
      key: "id",
      indexes: { by_name: "name" },
    },
    `INSERT INTO accounts (instance, id, name, email, changed, shout)
     VALUES ($instance, $id, $name, $email, $time, upper($name))`,
  )
  const shouts = statement<{ shout: string | null }>(
    "SELECT shout FROM accounts WHERE instance = $instance ORDER BY id",
  )

  test("with a new column serves its old rows until the rebuild ends", async () => {
    await reopen([added])
    expect(store.rebuilding()).toEqual(["account"])
    expect(rows()).toHaveLength(29)
    expect(store.all(cx(), shouts)[0]).toEqual({ shout: null })
    await store.rebuilt()
    expect(store.rebuilding()).toEqual([])
    expect(store.all(cx(), shouts).map((row) => row.shout)).toContain("NAME10")
  })

  test.each([
    ["anything", undefined],
    ["its streams", ["account"]],
  ])("invalidates cached values that depend on %s", async (_, streams) => {
    await reopen([added])
    const kept = cacheQuery((of) => store.all(of, shouts), streams)
    expect(kept(cx())[0]).toEqual({ shout: null })
    await store.rebuilt()
    expect(kept(cx())[0]).toEqual({ shout: "NAME10" })
  })

  test("includes writes during its rebuild, and loses none", async () => {
    await reopen([added])
    const writing = Array.from({ length: 300 }, (_, n) =>
      openAccount(cx(), `${100 + n}`, { name: `new${n}` }),
    )
    expect(store.rebuilding()).toEqual(["account"])
    await writing[0]
    expect(rows().map((row) => row.name)).toContain("new0")
    await Promise.all(writing)
    await store.rebuilt()
    const shown = store.all(cx(), shouts).map((row) => row.shout)
    expect(shown.filter((shout) => shout?.startsWith("NEW"))).toHaveLength(300)
  })

  test.each(["full", "locked"])("continues once a disk is no longer %s", async (options) => {
    const { promise: met, resolve: refused } = Promise.withResolvers<unknown>()
    const heard: string[] = []
    await reopen(
      [added],
      (view, cause) => {
        heard.push(`${view}: ${store.faultOf(cause)?.id}`)
        refused(cause)
      },
      (view) => heard.push(`${view} goes on`),
    )
    const { database } = store
    const other = new Database(file)
    if (options === "locked") {
      other.run("BEGIN IMMEDIATE")
      await pause(200, "it may not go on while the file is locked, and nothing signals that")
      expect(store.rebuilding()).toEqual(["account"])
      other.run("COMMIT")
    } else {
      const pages = database
        .query<{ page_count: number }, []>("PRAGMA page_count")
        .get()?.page_count
      database.run(`PRAGMA max_page_count = ${pages}`)
      await met
      expect(store.rebuilding()).toEqual(["account"])
      database.run("PRAGMA max_page_count = 1000000")
    }
    other.close()
    await store.rebuilt()
    expect([...new Set(heard)]).toEqual(
      options === "full" ? ["account: store.disk_full", "account goes on"] : [],
    )
    expect(store.rebuilding()).toEqual([])
    expect(store.all(cx(), shouts).filter((row) => row.shout?.startsWith("NAME"))).toHaveLength(30)
  })

  test("completes its rebuild under continuous writes", async () => {
    await reopen([added])
    let count = 0
    let isOver = false
    const write = async () => {
      while (!isOver) {
        count++
        await openAccount(cx(), `${1000 + count}`, { name: `more${count}` })
      }
    }
    const writers = Array.from({ length: 8 }, write)
    await store.rebuilt()
    isOver = true
    await Promise.all(writers)
    const shown = store.all(cx(), shouts).map((row) => row.shout)
    expect(shown.filter((shout) => shout?.startsWith("MORE"))).toHaveLength(count)
  })

  test("with a changed key and a removed column accepts writes immediately, with all rows", async () => {
    const byName = changedView(
      { columns: "name TEXT NOT NULL, id TEXT NOT NULL, rank INTEGER NOT NULL", key: "name" },
      `INSERT INTO accounts (instance, name, id, rank) VALUES ($instance, $name, $id, 7)
       ON CONFLICT (instance, name) DO UPDATE SET id = excluded.id`,
    )
    const ranks = statement<{ name: string; rank: number }>(
      "SELECT name, rank FROM accounts WHERE instance = $instance AND name >= $from ORDER BY name",
    )
    await reopen([byName])
    expect(store.all(cx(), ranks, { from: "name38" })).toEqual([
      { name: "name38", rank: 0 },
      { name: "name39", rank: 0 },
      { name: "renamed", rank: 0 },
    ])
    await openAccount(cx(), "99", { name: "zoe" })
    expect(store.all(cx(), ranks, { from: "z" })).toEqual([{ name: "zoe", rank: 7 }])
    await store.rebuilt()
    expect(store.all(cx(), ranks, { from: "name39" })).toEqual([
      { name: "name39", rank: 7 },
      { name: "zoe", rank: 7 },
    ])
  })

  test("leaves no old tables, even after an interrupted rebuild", async () => {
    await reopen([added])
    await reopen([added])
    await store.rebuilt()
    expect(tablesOf(store.database)).toHaveLength(1)
  })

  test("that is no longer declared is removed, and complete when it returns", async () => {
    const before = rows()
    await reopen([])
    await store.rebuilt()
    expect(tablesOf(store.database)).toEqual([])
    await openAccount(cx(), "98", { name: "unseen" })
    await reopen([accounts])
    await store.rebuilt()
    expect(rows()).toEqual([...before, { id: "98", name: "unseen", email: "unseen@example.com" }])
  })

  test("that can't be rebuilt keeps serving, and is reported with the reason", async () => {
    const failed: unknown[] = []
    const broken = changedView(
      { columns: "id TEXT NOT NULL, name TEXT NOT NULL, email TEXT", key: "id" },
      "INSERT INTO accounts (instance, id, name, email) VALUES ($instance, $id, NULL, $email)",
    )
    await reopen([broken], (...description) => failed.push(description))
    await store.rebuilt()
    expect(failed).toMatchObject([["account", { code: "SQLITE_CONSTRAINT_NOTNULL" }]])
    expect(rows()).toHaveLength(29)
    expect(tablesOf(store.database).length).toBeGreaterThan(0)
  })
})

test("a view that can't be rebuilt does not affect others", async () => {
  const broken = view<AccountEvent>({
    name: "broken",
    tables: [table("broken_accounts", { id: text() }, { key: ["id"] })],
    on: {
      "account.renamed": () => {
        throw new Error("a bug")
      },
    },
  })
  const live = rows()
  const failed: unknown[] = []
  await reopen([broken, { ...accounts, hash: "anew" }], (name) => failed.push(name))
  expect(store.rebuilding()).toEqual(["broken", "account"])
  await store.rebuilt()
  expect([failed, store.rebuilding()]).toEqual([["broken"], []])
  expect(rows()).toEqual(live)
  expect(tablesOf(store.database)).not.toContain("accounts_1")
})

test("replay equals the live rows, three times, also after erasure", async () => {
  const dump = () => store.all(cx(), everything)
  const everything = statement("SELECT * FROM accounts WHERE instance = $instance ORDER BY id")
  const live = dump()
  for (let round = 1; round <= 3; round++) {
    await reopen([{ ...accounts, hash: `round ${round}` }])
    await store.rebuilt()
    expect(dump()).toEqual(live)
  }
})

test("an unchanged view is not rebuilt", async () => {
  await reopen([accounts])
  expect(store.rebuilding()).toEqual([])
  expect(tablesOf(store.database)).toEqual(["accounts_1"])
})

describe("a view with a requested rebuild", () => {
  test("serves its rows meanwhile, and then those of its events", async () => {
    const before = rows()
    const [table = ""] = tablesOf(store.database).filter((name) => name.startsWith("accounts_"))
    store.database.run(`UPDATE ${table} SET name = 'wrong'`)
    expect(store.rebuild("account")).toBe(true)
    expect(store.rebuilding()).toEqual(["account"])
    expect(rows()).toHaveLength(before.length)
    await openAccount(cx(), "99", { name: "meanwhile" })
    await store.rebuilt()
    expect(store.rebuilding()).toEqual([])
    expect(rows()).toEqual([...before, expect.objectContaining({ name: "meanwhile" })])
    expect(tablesOf(store.database)).not.toContain(table)
  })

  test("is rebuilt once for concurrent requests; an unknown one is not", async () => {
    expect(store.rebuild("nothing")).toBe(false)
    const before = rows()
    expect([store.rebuild("account"), store.rebuild("account")]).toEqual([true, true])
    expect(store.rebuilding()).toEqual(["account"])
    await store.rebuilt()
    expect(rows()).toEqual(before)
  })

  test("keeps its rows if the store is closed meanwhile", async () => {
    const before = rows()
    store.rebuild("account")
    await reopen(modules.views)
    await store.rebuilt()
    expect(rows()).toEqual(before)
  })
})
