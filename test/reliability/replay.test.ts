import { Database } from "bun:sqlite"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  allAccounts,
  eraseAccount,
  openAccount,
  openFile,
  renameAccount,
  rooms,
} from "../store/account.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openWorld } from "../support/world.ts"
import { replayDifferences } from "./replay.ts"

describe("50,000 events (R-10)", () => {
  const folder = temporaryFolder()
  const file = `${folder.path}/latchkey.db`
  beforeAll(async () => {
    const world = openWorld(rooms, folder)
    let next = 0
    const writer = async () => {
      while (next < 25_000) {
        const id = `${next++}`
        await openAccount(world.cx(), id, { name: `name ${id}` })
        if (Number(id) % 50 === 7) await eraseAccount(world.cx(), id)
        else await renameAccount(world.cx(), id, `renamed ${id}`)
      }
    }
    await Promise.all(Array.from({ length: 64 }, writer))
    await world.store.close()
  })
  afterAll(() => folder.remove())

  test("replayed three times give the live rows and states, also after erasures", async () => {
    for (let round = 1; round <= 3; round++) {
      expect(await replayDifferences(file, rooms), `round ${round}`).toEqual([])
    }
  })

  test("are replayed while the old rows serve, at 20,000 a second and more", async () => {
    const store = openFile(file, { views: [{ ...rooms.views[0], hash: "changed" }] })
    const started = performance.now()
    expect(store.rebuilding()).toEqual(["account"])
    expect(store.all({ instance: "i1" }, allAccounts)).toHaveLength(24_500)
    await store.rebuilt()
    expect(50_000 / ((performance.now() - started) / 1000)).toBeGreaterThan(20_000)
    await store.close()
  })

  test("that differ from the live rows are found out, so the comparison can fail", async () => {
    const database = new Database(file)
    const table = database
      .query<{ name: string }, []>(
        "SELECT name FROM sqlite_master WHERE name GLOB 'accounts_[0-9]*'",
      )
      .all()
      .map(({ name }) => name)
      .find((name) => /^accounts_\d+$/.test(name))
    database.run(`UPDATE ${table} SET name = 'forged' WHERE id = '11'`)
    database.run(`UPDATE state SET state = '{}' WHERE id = '12'`)
    database.close()
    const found = await replayDifferences(file, {
      ...rooms,
      views: [{ ...rooms.views[0], hash: "changed" }],
    })
    expect(found.some((line) => line.includes("forged"))).toBe(true)
    expect(found.some((line) => line.startsWith("state i1/account/12"))).toBe(true)
  })
})
