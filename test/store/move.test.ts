// Moving a log from a data directory into PostgreSQL and back.
import { copyFileSync } from "node:fs"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { systemClock } from "../../src/kernel/clock.ts"
import type { Store } from "../../src/store/index.ts"
import { moveFromPostgres, moveToPostgres } from "../../src/store/postgres.ts"
import { type Postgres, startPostgres } from "../support/postgres.ts"
import { needs } from "../support/prerequisite.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import {
  account,
  accounts,
  allAccounts,
  eraseAccount,
  openAccount,
  openFile,
  rejectionOf,
  renameAccount,
  storeFile,
  temporaryFile,
} from "./account.ts"
import { openTestNode } from "./node.ts"
import { beginVisit, visitModules } from "./visit.ts"

const modules = {
  aggregates: [account, ...visitModules.aggregates],
  views: [accounts, ...visitModules.views],
}

describe.runIf(needs("postgres"))("a moved log", () => {
  let postgres: Postgres
  let world: TestEnvironment
  let url: string
  let file: string
  const removals: (() => void)[] = []
  beforeAll(() => {
    postgres = startPostgres()
  })
  afterAll(() => postgres.remove())
  beforeEach(async () => {
    world = openTestEnvironment(modules)
    url = await postgres.database()
    file = newFile()
    const store = openFile(file, modules)
    const cx = on(store)
    for (const id of ["1", "2", "3", "x\0y\\"]) await openAccount(cx, id, { name: `n${id}` })
    await renameAccount(cx, "1", "renamed")
    await storeFile(cx, "2", "a picture")
    await eraseAccount(cx, "3")
    await openAccount(on(store, "i2"), "1", { name: "n1", email: "ä\0b" })
    await beginVisit(cx, "1", { name: "guest" })
    await store.close()
  })
  afterEach(async () => {
    for (const remove of removals.splice(0)) remove()
    await world.close()
  })

  const newFile = () => {
    const made = temporaryFile()
    removals.push(made.remove)
    return made.file
  }
  const on = (store: Store, instance = "i1") => ({ ...world.cx({ instance }), store })
  const names = (store: Store, instance = "i1") =>
    store.all({ instance }, allAccounts).map(({ name }) => name)
  const asked = async (text: string) => {
    const sql = postgres.sql(url)
    await sql.unsafe(text)
    await sql.close()
  }
  const moving = (of = file) => ({
    file: of,
    url,
    aggregates: modules.aggregates,
    fingerprint: "key",
    fresh: () => crypto.randomUUID(),
    clock: systemClock,
  })
  const refused = async (work: Promise<unknown>) => rejectionOf(work)

  test("is the same there, for the directory and for an empty one", async () => {
    const moved = await moveToPostgres(moving())
    expect(moved).toMatchObject({ events: 9, files: 1 })
    const nodes = [
      await openTestNode({ ...modules, file, url }),
      await openTestNode({ ...modules, file: newFile(), url }),
    ]
    for (const store of nodes) {
      expect(names(store)).toEqual(["renamed", "n2", "nx\0y\\"])
      const picture = store.blob({ instance: "i1" }, account, { id: "2", name: "portrait" })
      expect(picture && Buffer.from(picture).toString()).toBe("a picture")
      expect(await rejectionOf(openAccount(on(store), "9", { name: "renamed" }))).toBe(
        "already_exists account.name_taken",
      )
    }
    // Released claims are released everywhere, by number.
    const [one, two] = nodes
    if (!one || !two) throw new Error("two were opened")
    await renameAccount(on(one), "1", "again")
    await two.node?.caughtUp()
    expect(await rejectionOf(openAccount(on(two), "9", { name: "renamed" }))).toBe("nothing")
    await Promise.all(nodes.map((store) => store.close()))
    expect(() => openFile(file, modules)).toThrow(
      /this data directory belongs to a log in PostgreSQL/,
    )
  })

  test("can be moved back, and the remaining copy is unusable", async () => {
    await moveToPostgres(moving())
    const node = await openTestNode({ ...modules, file: newFile(), url })
    await openAccount(on(node), "9", { name: "late" })
    const { filename } = node.database
    // The first directory does not know of the move and can't take the log from its current nodes.
    expect(await refused(moveFromPostgres(moving()))).toBe("failed_precondition move.busy")
    await node.close()
    await moveFromPostgres(moving(filename))
    const alone = openFile(filename, modules)
    expect([...names(alone)].sort()).toEqual(["late", "n2", "nx\0y\\", "renamed"])
    await openAccount(on(alone), "10", { name: "own" })
    await alone.close()
    expect(await refused(openTestNode({ ...modules, file, url }))).toBe(
      "unavailable store.database_moved",
    )
    // An interrupted export can be repeated; others can't take the log.
    expect(await refused(moveToPostgres(moving()))).toBe("failed_precondition move.not_empty")
  })

  test("an interrupted move is resumed, and detects differences", async () => {
    const copy = newFile()
    copyFileSync(file, copy)
    await moveToPostgres(moving())
    await asked(`UPDATE latchkey.log SET position = 0, number = 0, moving = 'in else'`)
    expect(await refused(openTestNode({ ...modules, file: newFile(), url }))).toBe(
      "unavailable store.database_moved",
    )
    expect(await refused(moveToPostgres(moving(copy)))).toBe("failed_precondition move.not_empty")
    const store = openFile(copy, modules)
    store.database.run("INSERT OR REPLACE INTO meta (key, value) VALUES ('folder', 'mine')")
    await store.close()
    await asked(`UPDATE latchkey.log SET moving = 'in mine', id = 'another';
      DELETE FROM latchkey.event WHERE position > 4;
      UPDATE latchkey.event SET data = '{"name":"forged"}' WHERE position = 2`)
    expect(await refused(moveToPostgres(moving(copy)))).toBe("failed_precondition move.different")
    expect(await moveToPostgres(moving(copy))).toMatchObject({ events: 9 })
    const node = await openTestNode({ ...modules, file: copy, url })
    expect(names(node, "i2")).toEqual(["n1"])
    await node.close()
  })

  test("rejects a database with a log, and another master key", async () => {
    const node = await openTestNode({ ...modules, file: newFile(), url })
    await openAccount(on(node), "1", { name: "there" })
    await node.close()
    expect(await refused(moveToPostgres(moving()))).toBe("failed_precondition move.not_empty")
    expect(await refused(moveToPostgres({ ...moving(), fingerprint: "other" }))).toBe(
      "failed_precondition start.master_key_wrong",
    )
    const alone = openFile(file, modules)
    expect(names(alone)).toEqual(["renamed", "n2", "nx\0y\\"])
    await alone.close()
  })
})
