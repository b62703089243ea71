// PostgreSQL restored to an earlier state without a new server: a dump or a copy of its files.
import { Database } from "bun:sqlite"
import { describe, expect, test } from "vitest"
import type { Store } from "../../src/store/index.ts"
import { needs } from "../support/prerequisite.ts"
import { until } from "../support/wait.ts"
import { allAccounts, modules, openAccount, rejectionOf } from "./account.ts"
import { testNodes } from "./node.ts"

const differs = "unavailable store.database_differs"

describe.runIf(needs("postgres"))("a log that was restored to an earlier state", () => {
  const { node, leave, on, asked, url, postgres } = testNodes(modules)
  const names = (store: Store) => store.all({ instance: "i1" }, allAccounts).map(({ name }) => name)
  const caughtUp = (store: Store) => store.node?.caughtUp() ?? Promise.resolve()
  const open = async (store: Store, from: number, to: number, name: string) => {
    for (let id = from; id <= to; id++)
      await openAccount(on(store), `${id}`, { name: `${name} ${id}` })
  }
  /** A stopped node that has events 1–4; the log has lost 3 and 4, and has 5 positions since. */
  const leftBehind = async () => {
    const first = await node()
    await open(first, 1, 2, "kept")
    const restore = postgres().dump(url())
    await open(first, 3, 4, "lost")
    const { filename } = first.database
    await leave(first)
    restore()
    const second = await node()
    await open(second, 3, 7, "since")
    return { filename, second }
  }

  test("is rejected by a node with lost events, from the first difference", async () => {
    const { filename, second } = await leftBehind()
    const cause = await node({ file: filename }).catch((each: unknown) => each)
    expect(cause).toMatchObject({
      id: "store.database_differs",
      message: expect.stringMatching(
        /a different history from position 3 on .*empty data directory/,
      ),
    })
    expect(names(second)).toHaveLength(7)
    // An empty directory is rebuilt from the log.
    expect(names(await node())).toEqual(names(second))
  })

  test("is rejected immediately by running nodes, for reads and writes", async () => {
    const lost: unknown[] = []
    const running = await node({ lost: (cause) => lost.push(cause) })
    await open(running, 1, 2, "kept")
    const restore = postgres().dump(url())
    await open(running, 3, 4, "lost")
    restore()
    const second = await node()
    await open(second, 3, 7, "since")
    expect(await rejectionOf(caughtUp(running))).toBe(differs)
    expect(await rejectionOf(openAccount(on(running), "8", { name: "late" }))).toBe(differs)
    expect(names(running)).toEqual(["kept 1", "kept 2", "lost 3", "lost 4"])
    await until(() => lost.some((cause) => `${cause}`.includes("from position 3 on")))
    expect(await asked("SELECT 1 FROM latchkey.event WHERE id = '8'")).toEqual([])
  })

  test("is rejected by a node that was idle during the restore", async () => {
    const first = await node()
    await open(first, 1, 2, "kept")
    const restore = postgres().copyFiles()
    await until(() =>
      caughtUp(first).then(
        () => true,
        () => false,
      ),
    )
    await open(first, 3, 3, "lost")
    const { filename } = first.database
    await leave(first)
    restore()
    const second = await node()
    // The log ends at the same position, with another event.
    await open(second, 3, 3, "since")
    expect(await rejectionOf(node({ file: filename }))).toBe(differs)
  })

  test("is followed by a node without lost events", async () => {
    const first = await node()
    await open(first, 1, 2, "kept")
    const { filename } = first.database
    await leave(first)
    const restore = postgres().dump(url())
    const second = await node()
    await open(second, 3, 4, "lost")
    await leave(second)
    restore()
    const third = await node()
    await open(third, 3, 5, "since")
    expect(names(await node({ file: filename }))).toEqual(names(third))
  })

  test("has a chain from its first write, also by a node of an older version", async () => {
    const first = await node()
    await open(first, 1, 1, "new")
    const [me] = await asked<{ run: string }>("SELECT run FROM latchkey.node")
    const steps = `[{"instance":"i1","time":0,"idTime":0,"expect":[],"claims":[],"blobs":[],
      "events":[["i1","account","9",1,"account.opened",1,"{\\"name\\":\\"old\\"}",null,0,
        "","","","",null]]}]`
    await asked(`SELECT latchkey.append_3(0, '${me?.run}', 99, '${steps}', 0, 0, 10,
      floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, 10000)`)
    const rows = await asked<{ position: number; sum: string }>(
      "SELECT position::integer AS position, sum FROM latchkey.chain ORDER BY position, number",
    )
    expect(rows.filter(({ position }) => position > 0).map(({ position }) => position)).toEqual([
      1, 2,
    ])
    expect(new Set(rows.map(({ sum }) => sum)).size).toBe(rows.length)
    await caughtUp(first)
    expect(names(first)).toEqual(["new 1", "old"])
  })

  test("starts its chain where a version without one has ended", async () => {
    const first = await node()
    await open(first, 1, 2, "before")
    const { filename } = first.database
    await leave(first)
    await asked(`DROP TRIGGER chain ON latchkey.log; DROP TABLE latchkey.chain;
      ALTER TABLE latchkey.log DROP COLUMN chain; UPDATE latchkey.log SET schema = 9`)
    const second = await node()
    const restore = postgres().dump(url())
    await open(second, 3, 3, "lost")
    const its = second.database.filename
    await leave(second)
    restore()
    const third = await node()
    await open(third, 3, 4, "since")
    expect(await rejectionOf(node({ file: its }))).toBe(differs)
    // A file of the older version has no link, and its content equals the log.
    const file = new Database(filename)
    file.run("DELETE FROM meta WHERE key = 'log_mark'")
    file.close()
    expect(names(await node({ file: filename }))).toEqual(names(third))
  })

  test("ignores a link of an older version", async () => {
    const first = await node()
    await open(first, 1, 2, "before")
    const { filename } = first.database
    const markIn = () => {
      const file = new Database(filename)
      const row = file
        .query<{ value: string }, []>("SELECT value FROM meta WHERE key = 'log_mark'")
        .get()
      file.close()
      return row?.value ?? ""
    }
    const stale = markIn()
    await open(first, 3, 4, "by the older version")
    await leave(first)
    const file = new Database(filename)
    file.run("UPDATE meta SET value = ? WHERE key = 'log_mark'", [stale])
    file.close()
    await asked("DELETE FROM latchkey.chain WHERE position < 4")
    const again = await node({ file: filename })
    await caughtUp(again)
    expect(names(again)).toHaveLength(4)
    expect(JSON.parse(stale).position).toBe(2)
    await until(() => JSON.parse(markIn()).position === 4)
  })

  test("is rejected only by a node whose link was deleted, with the remedy", async () => {
    const first = await node()
    await open(first, 1, 2, "kept")
    const { filename } = first.database
    await leave(first)
    const second = await node()
    await open(second, 3, 4, "since")
    await caughtUp(second)
    await asked("DELETE FROM latchkey.chain WHERE position < 4")
    const cause = await node({ file: filename }).catch((each: unknown) => each)
    expect(cause).toMatchObject({
      id: "store.database_differs",
      message: expect.stringMatching(
        /Start it with an empty data directory.*other nodes are not affected/,
      ),
    })
    expect(`${cause}`).not.toMatch(/Stop all nodes|Restore the database/)
    expect(names(await node())).toEqual(names(second))
  })

  test("keeps the links of its last 100,000 positions, and those of its nodes", async () => {
    const first = await node()
    await open(first, 1, 1, "one")
    await leave(first)
    const oldest = async (position: number) => {
      await asked(`UPDATE latchkey.node SET position = ${position};
        SELECT latchkey.trim_chain_1(1000000)`)
      const [row] = await asked<{ oldest: number }>(
        "SELECT min(position)::integer AS oldest FROM latchkey.chain",
      )
      return row?.oldest
    }
    await asked(`ALTER TABLE latchkey.log DISABLE TRIGGER chain;
      UPDATE latchkey.log SET position = 250000;
      INSERT INTO latchkey.chain SELECT n, n, 'sum' FROM generate_series(10, 250000, 10) n`)
    expect(await oldest(120_000)).toBe(120_000)
    expect(await oldest(240_000)).toBe(150_000)
  })
})
