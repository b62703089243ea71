// A changed view is made anew beside the old one, which serves meanwhile.
import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { Store, View } from "../../src/store/index.ts"
import { cached, statement, table, text, view } from "../../src/store/index.ts"
import type { TableLayout } from "../../src/store/view/view.ts"
import { pause } from "../support/wait.ts"
import { openWorld } from "../support/world.ts"
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

/** A call on the store as it now is. */
const cx = () => ({ ...calls.cx(), store })
const calls = openWorld(modules)
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

/** The view of accounts with another table, and reducers and columns that fit it. */
function changed(layout: TableLayout, insert: string, on = {}): View {
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
  const added = changed(
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

  test("with one more column serves its old rows until they are made anew", async () => {
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
  ])("is asked again for answers that are kept until %s changes", async (_, streams) => {
    await reopen([added])
    const kept = cached((of) => store.all(of, shouts), streams)
    expect(kept(cx())[0]).toEqual({ shout: null })
    await store.rebuilt()
    expect(kept(cx())[0]).toEqual({ shout: "NAME10" })
  })

  test("shows during its rebuild what is written meanwhile, and loses nothing of it", async () => {
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

  test.each(["full", "locked"])("goes on when a disk that was %s is so no more", async (how) => {
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
    if (how === "locked") {
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
      how === "full" ? ["account: store.disk_full", "account goes on"] : [],
    )
    expect(store.rebuilding()).toEqual([])
    expect(store.all(cx(), shouts).filter((row) => row.shout?.startsWith("NAME"))).toHaveLength(30)
  })

  test("is whole again while others never stop to write", async () => {
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

  test("whose key changed and that lost a column takes writes at once, with all rows", async () => {
    const byName = changed(
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

  test("leaves no table of its past behind, also when a rebuild was broken off", async () => {
    await reopen([added])
    await reopen([added])
    await store.rebuilt()
    expect(tablesOf(store.database)).toHaveLength(1)
  })

  test("that nobody declares any more is removed, and is whole when it comes back", async () => {
    const before = rows()
    await reopen([])
    await store.rebuilt()
    expect(tablesOf(store.database)).toEqual([])
    await openAccount(cx(), "98", { name: "unseen" })
    await reopen([accounts])
    await store.rebuilt()
    expect(rows()).toEqual([...before, { id: "98", name: "unseen", email: "unseen@example.com" }])
  })

  test("that can't be made anew serves on, and says which view and why", async () => {
    const failed: unknown[] = []
    const broken = changed(
      { columns: "id TEXT NOT NULL, name TEXT NOT NULL, email TEXT", key: "id" },
      "INSERT INTO accounts (instance, id, name, email) VALUES ($instance, $id, NULL, $email)",
    )
    await reopen([broken], (...what) => failed.push(what))
    await store.rebuilt()
    expect(failed).toMatchObject([["account", { code: "SQLITE_CONSTRAINT_NOTNULL" }]])
    expect(rows()).toHaveLength(29)
    expect(tablesOf(store.database).length).toBeGreaterThan(0)
  })
})

test("one view that can't be made anew leaves the others alone", async () => {
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

test("a view that did not change is not made anew", async () => {
  await reopen([accounts])
  expect(store.rebuilding()).toEqual([])
  expect(tablesOf(store.database)).toEqual(["accounts_1"])
})

describe("a view that is asked for anew", () => {
  test("serves what it has meanwhile, and then what its events say", async () => {
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

  test("twice at once is made anew once, and one that is not there not at all", async () => {
    expect(store.rebuild("nothing")).toBe(false)
    const before = rows()
    expect([store.rebuild("account"), store.rebuild("account")]).toEqual([true, true])
    expect(store.rebuilding()).toEqual(["account"])
    await store.rebuilt()
    expect(rows()).toEqual(before)
  })

  test("leaves the rows as they are where the store is closed meanwhile", async () => {
    const before = rows()
    store.rebuild("account")
    await reopen(modules.views)
    await store.rebuilt()
    expect(rows()).toEqual(before)
  })
})
