// An incomplete upgrade is undone automatically, wherever it was interrupted.
import { Database } from "bun:sqlite"
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { firstInstance } from "../../src/domain/setup/index.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { createDataKey } from "../../src/kernel/crypto/secret.ts"
import { aggregates, views } from "../../src/server/modules.ts"
import {
  dropExpiredSnapshot,
  keptDays,
  openStore,
  type PendingUpgrade,
  readSnapshot,
  undoUpgrade,
} from "../../src/store/index.ts"
import { supportedSchema } from "../../src/store/snapshot.ts"
import { createUpgradeGuard } from "../../src/store/upgrade/upgrade-snapshot.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openTestEnvironment } from "../support/test-environment.ts"

const dayMs = 86_400_000

let folder: ReturnType<typeof temporaryFolder>
let file = ""
let snapshot: ReturnType<typeof readSnapshot>
beforeEach(() => {
  folder = temporaryFolder()
  file = join(folder.path, "latchkey.db")
  const kept = join(import.meta.dirname, "../server/earlier-version/latchkey.db.gz")
  writeFileSync(file, gunzipSync(readFileSync(kept)))
  snapshot = readSnapshot(file)
})
afterEach(() => folder.remove())

const names = () =>
  readdirSync(folder.path)
    .filter((name) => !/-(wal|shm|mark)$/.test(name))
    .sort()

/** Opens and closes a store; returns the reports before the tables changed. */
async function start(): Promise<readonly PendingUpgrade[]> {
  const told: PendingUpgrade[] = []
  const fail = (cause: unknown) => {
    throw cause
  }
  const upgrading = (upgrade: PendingUpgrade) => told.push(upgrade)
  const store = openStore({
    file,
    aggregates,
    views,
    fatal: fail,
    upgrading,
    notReady: (_, cause) => fail(cause),
  })
  await store.close()
  return told
}

/** The same, with data that prevents states from being folded. */
function failStart(): void {
  const database = new Database(file)
  // Nothing reads it until the tables have been changed.
  database.run("CREATE TRIGGER broken BEFORE INSERT ON state BEGIN SELECT raise(ABORT, 'no'); END")
  database.close()
  expect(() => openTestEnvironment({ aggregates, views }, folder)).toThrow(
    "The data was restored to its previous state",
  )
}

test("the upgrade is reported, and the previous data kept", async () => {
  const told = await start()
  expect(told).toEqual([
    { from: snapshot.schema, to: supportedSchema, bytes: expect.any(Number), seconds: 1 },
  ])
  expect(names()).toEqual(["latchkey.db", "latchkey.db-before"])
  expect(readSnapshot(`${file}-before`)).toEqual(snapshot)
  expect(await start()).toEqual([])
})

describe("if only states are recomputed", () => {
  /** As a version with another fold of users leaves it. */
  function olderStates(sql = "UPDATE fold SET shape = '0' WHERE stream = 'user'"): void {
    const database = new Database(file)
    database.run(sql)
    database.close()
    rmSync(`${file}-before`, { force: true })
  }

  test("the previous data is kept and can be restored", async () => {
    const master = new Uint8Array(32)
    addDataKey(master)
    await start()
    olderStates()
    const before = readSnapshot(file)
    const shapeOf = () => {
      using database = new Database(file)
      return database.query("SELECT shape FROM fold WHERE stream = 'user'").get()
    }
    expect(await start()).toEqual([
      { from: supportedSchema, to: supportedSchema, bytes: expect.any(Number), seconds: 1 },
    ])
    expect(names()).toEqual(["latchkey.db", "latchkey.db-before"])
    expect(readSnapshot(`${file}-before`)).toEqual(before)
    expect(await start()).toEqual([])
    expect(shapeOf()).not.toEqual({ shape: "0" })
    expect(undoUpgrade(file, master)).toEqual({
      schema: supportedSchema,
      position: before.position,
    })
    expect(shapeOf()).toEqual({ shape: "0" })
  })

  test("a new kind of state has nothing to keep", async () => {
    await start()
    olderStates("DELETE FROM fold WHERE stream = 'user'")
    expect(await start()).toEqual([])
    expect(names()).toEqual(["latchkey.db"])
  })

  test("the copy of a killed start is not replaced by a newer one", async () => {
    copyFileSync(file, join(folder.path, "kept"))
    await start()
    copyFileSync(join(folder.path, "kept"), `${file}-upgrading`)
    olderStates()
    await start()
    expect(readSnapshot(`${file}-before`)).toEqual(snapshot)
  })

  test("a disk without space for the copy does not prevent the start", async () => {
    await start()
    olderStates()
    const told: PendingUpgrade[] = []
    const guard = createUpgradeGuard(file, {
      aggregates,
      told: (description) => told.push(description),
    })
    using database = new Database(file)
    const query = database.query.bind(database)
    vi.spyOn(database, "query").mockImplementation((sql: string) => {
      if (!sql.startsWith("VACUUM")) return query(sql)
      throw Object.assign(new Error("no space left"), { code: "ENOSPC", syscall: "write" })
    })
    guard.take(database)
    guard.done()
    expect(told[0]?.notCopied).toMatch(/disk is full/)
    expect(names()).toEqual(["latchkey.db"])
  })
})

test("a new folder has nothing to keep", async () => {
  const fresh = temporaryFolder()
  const world = openTestEnvironment({ aggregates, views }, fresh)
  await world.store.close()
  expect(existsSync(join(fresh.path, "latchkey.db-before"))).toBe(false)
  fresh.remove()
})

describe("is undone if", () => {
  test("the tables were changed, but their content can't be migrated", () => {
    failStart()
    expect(readSnapshot(file)).toEqual(snapshot)
    expect(names()).toEqual(["latchkey.db"])
  })

  test("and it can be repeated after a repair", async () => {
    failStart()
    const database = new Database(file)
    database.run("DROP TRIGGER broken")
    database.close()
    const world = openTestEnvironment({ aggregates, views, textIndexFrom: 0 }, folder)
    await world.store.rebuilt()
    const cx = world.cx({ instance: firstInstance })
    expect(findByLoginName(cx, "mueller")).toBeDefined()
    await world.store.close()
  })

  test("the table migration fails", () => {
    const database = new Database(file)
    database.run("CREATE TABLE blob (mine TEXT)")
    database.close()
    expect(() => openTestEnvironment({ aggregates, views }, folder)).toThrow()
    expect(readSnapshot(file)).toEqual(snapshot)
    expect(names()).toEqual(["latchkey.db"])
  })
})

describe("is resumed after a kill", () => {
  test("during the copy", async () => {
    writeFileSync(`${file}-upgrading.part`, "half")
    await start()
    expect(names()).toEqual(["latchkey.db", "latchkey.db-before"])
    expect(readSnapshot(`${file}-before`)).toEqual(snapshot)
  })

  test("before the tables were changed, even long ago", async () => {
    writeFileSync(`${file}-upgrading`, "of another time")
    await start()
    expect(readSnapshot(`${file}-before`)).toEqual(snapshot)
  })

  test("after the tables were changed", async () => {
    copyFileSync(file, join(folder.path, "kept"))
    await start()
    copyFileSync(join(folder.path, "kept"), `${file}-upgrading`)
    await start()
    expect(readSnapshot(`${file}-before`)).toEqual(snapshot)
    expect(names()).not.toContain("latchkey.db-upgrading")
  })

  test("while the keys of an older copy were rewrapped with another master key", async () => {
    writeFileSync(`${file}-before`, "an older one")
    writeFileSync(`${file}-before-journal`, "how it was")
    await start()
    expect(readSnapshot(`${file}-before`)).toEqual(snapshot)
    expect(names()).toEqual(["latchkey.db", "latchkey.db-before"])
  })

  test("during the undo", async () => {
    copyFileSync(file, join(folder.path, "kept"))
    await start()
    copyFileSync(join(folder.path, "kept"), `${file}-return`)
    expect(await start()).toHaveLength(1)
    expect(names()).not.toContain("latchkey.db-return")
  })
})

/** Adds a data key for the given master key to the database. */
function addDataKey(master: Uint8Array): void {
  const { id, purpose, wrapped } = createDataKey(systemRandom, master, "seal")
  using database = new Database(file)
  database.run("DELETE FROM data_key")
  database
    .query("INSERT INTO data_key (id, purpose, wrapped, active) VALUES (?, ?, ?, 1)")
    .run(id, purpose, wrapped)
}

test("an upgrade can be undone within some days", async () => {
  const [master, another] = [new Uint8Array(32), new Uint8Array(32).fill(1)]
  addDataKey(master)
  expect(() => undoUpgrade(file, master)).toThrow("there was no upgrade in the last 7 days")
  await start()
  expect(() => undoUpgrade(file, another)).toThrow("the master key does not open")
  expect(readSnapshot(file).schema).toBe(supportedSchema)
  expect(undoUpgrade(file, master)).toEqual({
    schema: snapshot.schema,
    position: snapshot.position,
  })
  expect(readSnapshot(file)).toEqual(snapshot)
  await start()
  const made = Date.now() / 1000
  utimesSync(`${file}-before`, made, made)
  expect(dropExpiredSnapshot(file, Date.now() + (keptDays - 1) * dayMs)).toBe(false)
  expect(dropExpiredSnapshot(file, Date.now() + (keptDays + 1) * dayMs)).toBe(true)
  expect(dropExpiredSnapshot(file, Date.now() + (keptDays + 1) * dayMs)).toBe(false)
  expect(names()).toEqual(["latchkey.db"])
})
