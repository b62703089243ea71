// States are folded by the current code: after a code change before anything else, and all or none.
import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { AnyAggregate, Store } from "../../src/store/index.ts"
import type { RebuildResult } from "../../src/store/state/rebuild.ts"
import { openTestEnvironment } from "../support/test-environment.ts"
import {
  account,
  eraseAccount,
  modules,
  moveAccount,
  onInstance,
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
  for (let n = 0; n < 20; n++) await openAccount(cx(), `${n}`, { name: `name${n}` })
  for (const n of [3, 1, 2]) await renameAccount(cx(), `${n}`, `renamed${n}`)
  await openAccount(cx("i2"), "1", { name: "same id" })
  await moveAccount(cx(), "4", "moved@example.com")
  await eraseAccount(cx(), "5")
})
afterEach(async () => {
  await store.close()
  remove()
})

const calls = openTestEnvironment(modules)
/** A call on the current store. */
const cx = (instance = "i1") => ({ ...calls.cx(onInstance(instance)), store })
const nameOf = (id: string, instance = "i1") => store.state(cx(instance), account, id).name
const rows = (database = store.database) =>
  database.query("SELECT * FROM state ORDER BY instance, stream, id").all()

const claims = () => store.database.query("SELECT * FROM claim").all()

/** Names are now in capitals; the revision changes. */
const upperCaseAccount: typeof account = {
  ...account,
  revision: 2,
  evolve: {
    ...account.evolve,
    "account.opened": (_, { data }) => ({
      status: "open",
      name: data.name.toUpperCase(),
      email: null,
    }),
  },
}

async function reopen(...aggregates: readonly AnyAggregate[]): Promise<RebuildResult[]> {
  await store.close()
  const told: RebuildResult[] = []
  store = openFile(file, { aggregates, statesRebuilt: (description) => told.push(description) })
  return told
}

describe("a fold of another revision", () => {
  test("applies to all states before the store is open", async () => {
    const told = await reopen(upperCaseAccount)
    expect(told).toEqual([{ streams: ["account"], events: 26 }])
    expect([nameOf("0"), nameOf("1"), nameOf("1", "i2")]).toEqual(["NAME0", "renamed1", "SAME ID"])
    await openAccount(cx(), "20", { name: "new" })
    expect(nameOf("20")).toBe("NEW")
    expect(await reopen(upperCaseAccount)).toEqual([])
  })

  test("keeps versions, positions, times, and owners", async () => {
    const before = rows()
    await reopen({ ...account, revision: 2 })
    expect(rows()).toEqual(before)
  })

  test("prevents the start without changes if it throws", async () => {
    const before = rows()
    await store.close()
    const broken = {
      ...upperCaseAccount,
      evolve: {
        ...upperCaseAccount.evolve,
        "account.moved": () => {
          throw new Error("a bug")
        },
      },
    }
    expect(() => openFile(file, { aggregates: [broken] })).toThrow("a bug")
    store = openFile(file)
    expect(rows()).toEqual(before)
    expect(nameOf("0")).toBe("name0")
  })

  test("is restarted by the next start if it was killed", async () => {
    const before = rows()
    await store.close()
    const killed = Bun.spawn(
      [process.execPath, `${import.meta.dirname}/rebuild-states/hang.ts`, file],
      {
        stdout: "pipe",
      },
    )
    const said = await killed.stdout.getReader().read()
    expect(Buffer.from(said.value ?? []).toString()).toContain("in the middle")
    killed.kill("SIGKILL")
    await killed.exited
    const left = new Database(file, { readonly: true })
    expect(rows(left)).toEqual(before)
    left.close()
    store = openFile(file, { aggregates: [upperCaseAccount] })
    expect([nameOf("0"), nameOf("19")]).toEqual(["NAME0", "NAME19"])
  })

  test("is reverted by the version with the older one", async () => {
    await reopen(upperCaseAccount)
    expect(await reopen(account)).toHaveLength(1)
    expect(nameOf("0")).toBe("name0")
  })
})

test("an unchanged fold reads no events", async () => {
  expect(await reopen(account)).toEqual([])
})

/** Statements that turn a current database into one of an older version, newest first. */
const downgrades: Readonly<Record<number, readonly string[]>> = {
  6: ["DROP INDEX claim_number", "ALTER TABLE claim DROP COLUMN number"],
  5: ["DROP TABLE blob"],
  4: ["ALTER TABLE claim DROP COLUMN sum"],
  3: ["ALTER TABLE state DROP COLUMN sum"],
  2: [
    "DROP INDEX event_stream",
    "CREATE UNIQUE INDEX event_stream ON event (instance, stream, id, version)",
    "CREATE TABLE kept AS SELECT * FROM state",
    "DROP TABLE state",
    `CREATE TABLE state (instance TEXT NOT NULL, stream TEXT NOT NULL, id TEXT NOT NULL,
       version INTEGER NOT NULL, position INTEGER NOT NULL, created INTEGER NOT NULL,
       changed INTEGER NOT NULL, owner TEXT NOT NULL, state TEXT NOT NULL, expires INTEGER,
       PRIMARY KEY (instance, stream, id)) WITHOUT ROWID`,
    `INSERT INTO state SELECT instance, stream, id, version, position, created, changed, owner,
       state, expires FROM kept`,
    "DROP TABLE kept",
    "CREATE INDEX state_expires ON state (stream, expires) WHERE expires IS NOT NULL",
  ],
  1: ["DROP INDEX state_expires", "ALTER TABLE state DROP COLUMN expires", "DROP TABLE fold"],
}

for (const version of [6, 5, 4, 3, 2, 1]) {
  test(`a database of version ${version} is brought up to date`, async () => {
    const schema = () =>
      store.database
        .query("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
        .all()
    const before = [rows(), claims(), schema()]
    await store.close()
    const old = new Database(file)
    for (let step = 6; step >= version; step--)
      for (const sql of downgrades[step] ?? []) old.run(sql)
    old.run(`PRAGMA user_version = ${version}`)
    old.close()
    const told: RebuildResult[] = []
    store = openFile(file, { statesRebuilt: (description) => told.push(description) })
    // Their states get checksums.
    expect(told).toEqual(version > 3 ? [] : [{ streams: ["account"], events: 26 }])
    expect([rows(), claims(), schema()]).toEqual(before)
    expect(await reopen(upperCaseAccount)).toHaveLength(1)
  })
}
