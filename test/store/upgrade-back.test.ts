// An upgrade that does not come to its end goes back by itself, at whatever moment it was ended.
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
  dropBefore,
  goBack,
  inSnapshot,
  keptDays,
  openStore,
  type Upgrading,
} from "../../src/store/index.ts"
import { newestSchema } from "../../src/store/snapshot.ts"
import { guardOf } from "../../src/store/upgrade/before.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openWorld } from "../support/world.ts"

const dayMs = 86_400_000

let folder: ReturnType<typeof temporaryFolder>
let file = ""
let old: ReturnType<typeof inSnapshot>
beforeEach(() => {
  folder = temporaryFolder()
  file = join(folder.path, "latchkey.db")
  const kept = join(import.meta.dirname, "../server/earlier-version/latchkey.db.gz")
  writeFileSync(file, gunzipSync(readFileSync(kept)))
  old = inSnapshot(file)
})
afterEach(() => folder.remove())

const names = () =>
  readdirSync(folder.path)
    .filter((name) => !/-(wal|shm|mark)$/.test(name))
    .sort()

/** Opens and closes; answers what was told before the tables were changed. */
async function start(): Promise<readonly Upgrading[]> {
  const told: Upgrading[] = []
  const fail = (cause: unknown) => {
    throw cause
  }
  const upgrading = (what: Upgrading) => told.push(what)
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

/** The same, with something in the folder that keeps its states from being folded. */
function startBroken(): void {
  const database = new Database(file)
  // Nobody reads it until the tables have been changed.
  database.run("CREATE TRIGGER broken BEFORE INSERT ON state BEGIN SELECT raise(ABORT, 'no'); END")
  database.close()
  expect(() => openWorld({ aggregates, views }, folder)).toThrow("It is again as it was before")
}

test("what is about to be done is told, and what was before is kept", async () => {
  const told = await start()
  expect(told).toEqual([
    { from: old.schema, to: newestSchema, bytes: expect.any(Number), seconds: 1 },
  ])
  expect(names()).toEqual(["latchkey.db", "latchkey.db-before"])
  expect(inSnapshot(`${file}-before`)).toEqual(old)
  expect(await start()).toEqual([])
})

describe("where only states are computed anew", () => {
  /** As a version leaves it that folds users in another way. */
  function olderStates(sql = "UPDATE fold SET shape = '0' WHERE stream = 'user'"): void {
    const database = new Database(file)
    database.run(sql)
    database.close()
    rmSync(`${file}-before`, { force: true })
  }

  test("what was before is kept, and can be gone back to", async () => {
    const master = new Uint8Array(32)
    sealWith(master)
    await start()
    olderStates()
    const before = inSnapshot(file)
    const shapeOf = () => {
      using database = new Database(file)
      return database.query("SELECT shape FROM fold WHERE stream = 'user'").get()
    }
    expect(await start()).toEqual([
      { from: newestSchema, to: newestSchema, bytes: expect.any(Number), seconds: 1 },
    ])
    expect(names()).toEqual(["latchkey.db", "latchkey.db-before"])
    expect(inSnapshot(`${file}-before`)).toEqual(before)
    expect(await start()).toEqual([])
    expect(shapeOf()).not.toEqual({ shape: "0" })
    expect(goBack(file, master)).toEqual({ schema: newestSchema, position: before.position })
    expect(shapeOf()).toEqual({ shape: "0" })
  })

  test("states of a kind that is new have nothing to keep", async () => {
    await start()
    olderStates("DELETE FROM fold WHERE stream = 'user'")
    expect(await start()).toEqual([])
    expect(names()).toEqual(["latchkey.db"])
  })

  test("the copy of a start that was killed is not replaced by a newer one", async () => {
    copyFileSync(file, join(folder.path, "kept"))
    await start()
    copyFileSync(join(folder.path, "kept"), `${file}-upgrading`)
    olderStates()
    await start()
    expect(inSnapshot(`${file}-before`)).toEqual(old)
  })

  test("a disk without room for the copy keeps nobody from starting", async () => {
    await start()
    olderStates()
    const told: Upgrading[] = []
    const guard = guardOf(file, { aggregates, told: (what) => told.push(what) })
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
  const world = openWorld({ aggregates, views }, fresh)
  await world.store.close()
  expect(existsSync(join(fresh.path, "latchkey.db-before"))).toBe(false)
  fresh.remove()
})

describe("goes back where", () => {
  test("the tables were changed, but what they hold can't be brought along", () => {
    startBroken()
    expect(inSnapshot(file)).toEqual(old)
    expect(names()).toEqual(["latchkey.db"])
  })

  test("and somebody can start it anew once that is mended", async () => {
    startBroken()
    const database = new Database(file)
    database.run("DROP TRIGGER broken")
    database.close()
    const world = openWorld({ aggregates, views, textIndexFrom: 0 }, folder)
    await world.store.rebuilt()
    const cx = world.cx({ instance: firstInstance })
    expect(findByLoginName(cx, "mueller")).toBeDefined()
    await world.store.close()
  })

  test("the change of the tables itself fails", () => {
    const database = new Database(file)
    database.run("CREATE TABLE blob (mine TEXT)")
    database.close()
    expect(() => openWorld({ aggregates, views }, folder)).toThrow()
    expect(inSnapshot(file)).toEqual(old)
    expect(names()).toEqual(["latchkey.db"])
  })
})

describe("is gone on with after it was killed", () => {
  test("while the copy was written", async () => {
    writeFileSync(`${file}-upgrading.part`, "half")
    await start()
    expect(names()).toEqual(["latchkey.db", "latchkey.db-before"])
    expect(inSnapshot(`${file}-before`)).toEqual(old)
  })

  test("before the tables were changed, also long ago", async () => {
    writeFileSync(`${file}-upgrading`, "of another time")
    await start()
    expect(inSnapshot(`${file}-before`)).toEqual(old)
  })

  test("after the tables were changed", async () => {
    copyFileSync(file, join(folder.path, "kept"))
    await start()
    copyFileSync(join(folder.path, "kept"), `${file}-upgrading`)
    await start()
    expect(inSnapshot(`${file}-before`)).toEqual(old)
    expect(names()).not.toContain("latchkey.db-upgrading")
  })

  test("while the keys of an older one were put under another master key", async () => {
    writeFileSync(`${file}-before`, "an older one")
    writeFileSync(`${file}-before-journal`, "how it was")
    await start()
    expect(inSnapshot(`${file}-before`)).toEqual(old)
    expect(names()).toEqual(["latchkey.db", "latchkey.db-before"])
  })

  test("while it went back", async () => {
    copyFileSync(file, join(folder.path, "kept"))
    await start()
    copyFileSync(join(folder.path, "kept"), `${file}-return`)
    expect(await start()).toHaveLength(1)
    expect(names()).not.toContain("latchkey.db-return")
  })
})

/** Gives the database a data key of a master key that we have. */
function sealWith(master: Uint8Array): void {
  const { id, purpose, wrapped } = createDataKey(systemRandom, master, "seal")
  using database = new Database(file)
  database.run("DELETE FROM data_key")
  database
    .query("INSERT INTO data_key (id, purpose, wrapped, active) VALUES (?, ?, ?, 1)")
    .run(id, purpose, wrapped)
}

test("who wants to go back does, within some days", async () => {
  const [master, another] = [new Uint8Array(32), new Uint8Array(32).fill(1)]
  sealWith(master)
  expect(() => goBack(file, master)).toThrow("nothing was upgraded")
  await start()
  expect(() => goBack(file, another)).toThrow("the master key does not open")
  expect(inSnapshot(file).schema).toBe(newestSchema)
  expect(goBack(file, master)).toEqual({ schema: old.schema, position: old.position })
  expect(inSnapshot(file)).toEqual(old)
  await start()
  const made = Date.now() / 1000
  utimesSync(`${file}-before`, made, made)
  expect(dropBefore(file, Date.now() + (keptDays - 1) * dayMs)).toBe(false)
  expect(dropBefore(file, Date.now() + (keptDays + 1) * dayMs)).toBe(true)
  expect(dropBefore(file, Date.now() + (keptDays + 1) * dayMs)).toBe(false)
  expect(names()).toEqual(["latchkey.db"])
})
