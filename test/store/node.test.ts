import { describe, expect, test } from "vitest"
import { systemClock } from "../../src/kernel/clock.ts"
import {
  listFailedEvents,
  retryFailedEvents,
  runReactors,
  type Store,
  shareReactorState,
} from "../../src/store/index.ts"
import { needs } from "../support/prerequisite.ts"
import { pause } from "../support/wait.ts"
import {
  account,
  accounts,
  allAccounts,
  eraseAccount,
  moveAccount,
  openAccount,
  rejectionOf,
  renameAccount,
  storeFile,
} from "./account.ts"
import { testNodes } from "./node.ts"
import { beginVisit, day, endVisit, hour, visitModules } from "./visit.ts"

const modules = {
  aggregates: [account, ...visitModules.aggregates],
  views: [accounts, ...visitModules.views],
}

describe.runIf(needs("postgres"))("a node whose log is in PostgreSQL", () => {
  const { node, leave, on, asked, world, url, postgres } = testNodes(modules)
  const names = (store: Store, instance = "i1") =>
    store.all({ instance }, allAccounts).map(({ name }) => name)
  /** The content of a file, except its identity. */
  const tables = ({ database }: Store) =>
    ["event", "claim", "state", "blob", "accounts_1"].map((table) =>
      database
        .query<Record<string, unknown>, []>(`SELECT * FROM ${table}`)
        .all()
        .map(({ stream, type, sum, ...rest }) => JSON.stringify(rest))
        .sort(),
    )

  test("is the same when it starts again with an empty directory", async () => {
    const first = await node()
    const cx = on(first)
    for (const id of ["1", "2", "3"]) await openAccount(cx, id, { name: `n${id}`, email: "a@b" })
    await renameAccount(cx, "1", "renamed")
    await moveAccount(cx, "2", "new@b")
    await storeFile(cx, "2", "a picture")
    await storeFile(cx, "3", "another")
    await eraseAccount(cx, "3")
    await openAccount(on(first, { instance: "i2" }), "1", { name: "n1" })
    const before = tables(first)
    const remove = await leave(first)
    remove()
    const again = await node()
    expect(tables(again)).toEqual(before)
    expect(names(again)).toEqual(["renamed", "n2"])
    const file = again.blob({ instance: "i1" }, account, { id: "2", name: "portrait" })
    expect(file && Buffer.from(file).toString()).toBe("a picture")
    // Free and claimed keys are known, too.
    const late = (name: string) => rejectionOf(openAccount(on(again), "9", { name }))
    expect(await late("renamed")).toBe("already_exists account.name_taken")
    expect(await late("n1")).toBe("nothing")
  })

  test("personal data does not remain in the database after erasure", async () => {
    const store = await node()
    await openAccount(on(store), "1", { name: "erika", email: "erika@example.com" })
    await eraseAccount(on(store), "1")
    const [row] = await asked<{ all: string }>(
      `SELECT coalesce(string_agg(e::text, ''), '') || (SELECT coalesce(string_agg(c::text, ''), '')
         FROM latchkey.claim c) || (SELECT string_agg(g::text, '') FROM latchkey.change g) AS all
       FROM latchkey.event e WHERE type <> 'account.opened' OR private IS NOT NULL`,
    )
    expect(row?.all).not.toContain("erika@example.com")
    expect(await asked("SELECT * FROM latchkey.claim")).toEqual([])
  })

  test("two concurrent writers end with the same state, and no name is given twice", async () => {
    const [one, two] = [await node(), await node()]
    const made = await Promise.all(
      Array.from({ length: 60 }, (_, at) => {
        const store = at % 2 ? one : two
        return rejectionOf(openAccount(on(store), `${at}`, { name: `n${at % 40}` }))
      }),
    )
    expect(made.filter((each) => each === "nothing")).toHaveLength(40)
    expect(new Set(made)).toEqual(new Set(["nothing", "already_exists account.name_taken"]))
    await Promise.all([one.node?.caughtUp(), two.node?.caughtUp()])
    expect(tables(one)).toEqual(tables(two))
    const rows = await asked<{ n: number }>(
      "SELECT (max(position) - count(*))::integer AS n FROM latchkey.event",
    )
    expect(rows[0]?.n).toBe(0)
  })

  test("decides again on concurrent writes of another node", async () => {
    const [one, two] = [await node(), await node()]
    await openAccount(on(one), "1", { name: "first" })
    await two.node?.caughtUp()
    await Promise.all(
      [one, two].flatMap((store, at) =>
        [0, 1, 2].map((round) =>
          renameAccount(on(store), "1", `${at}${round}`).catch(() => undefined),
        ),
      ),
    )
    await Promise.all([one.node?.caughtUp(), two.node?.caughtUp()])
    expect(names(one)).toEqual(names(two))
    expect(one.receipt({ instance: "i1" }, account, "1")).toEqual(
      two.receipt({ instance: "i1" }, account, "1"),
    )
  })

  test("expired streams are deleted in the database and on every node", async () => {
    const [one, two] = [await node(), await node()]
    await beginVisit(on(one), "1", { name: "guest" })
    await endVisit(on(one), "1")
    await beginVisit(on(one), "2", { name: "stays" })
    await openAccount(on(one), "1", { name: "newest" })
    const now = world().clock.now() + day + 2 * hour
    const limits = { now, auditedBefore: now - 90 * day, position: Number.MAX_SAFE_INTEGER }
    const pruned = await one.prune({ ...limits, stopped: () => false })
    expect(pruned).toMatchObject({ streams: 1, events: 2, claims: 2 })
    expect(
      await asked("SELECT id FROM latchkey.event WHERE id = '1' AND stream = 'visit'"),
    ).toEqual([])
    await two.node?.caughtUp()
    expect(tables(two)[0]).toEqual(tables(one)[0])
    // It can start again from version 1 on either node.
    world().clock.advance(day + 2 * hour)
    expect((await beginVisit(on(two), "1", { name: "again" })).version).toBe(1)
    await one.node?.caughtUp()
    const again = await node()
    expect(tables(again)).toEqual(tables(one))
  })

  test("a transaction whose response was lost happens once", async () => {
    const store = await node()
    let isOver = false
    const cutting = (async () => {
      const sql = postgres().sql(url())
      for (let cuts = 0; cuts < 8 || !isOver; cuts++) {
        await sql.unsafe(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE application_name = 'latchkey' AND datname = current_database()`,
        )
        await pause(20 + cuts * 3, "the cuts must come at any moment of the steps")
      }
      await sql.close()
    })()
    const ids = Array.from({ length: 50 }, (_, at) => `${at}`)
    const results: unknown[] = []
    for (const id of ids) results.push(await rejectionOf(openAccount(on(store), id, { name: id })))
    isOver = true
    await cutting
    expect(new Set(results)).toEqual(new Set(["nothing"]))
    expect(
      await asked("SELECT id FROM latchkey.event GROUP BY id HAVING count(*) = 1"),
    ).toHaveLength(50)
    expect(names(store)).toHaveLength(50)
  })

  test("a repeated batch gets the same response, an older one none", async () => {
    await node()
    const joined = await asked<{ run: string }>("SELECT run FROM latchkey.node")
    const event = `["i1","account","7",1,"account.opened",1,"{}",null,0,"","","","",null]`
    const expects = `[{"stream":"account","id":"7","version":0}]`
    const step = `{"instance":"i1","time":0,"expect":${expects},"claims":[],"events":[${event}]}`
    const append = (batch: number) =>
      asked<{ outcomes: unknown }>(
        `SELECT latchkey.append_1(0, '${joined[0]?.run}', ${batch}, '[${step}]', 0, 0, 9)
           ->'outcomes' AS outcomes`,
      )
    const once = await append(5)
    expect(once[0]?.outcomes).toEqual([{ kind: "appended", position: 1 }])
    expect(await append(5)).toEqual(once)
    expect((await append(6))[0]?.outcomes).toEqual([
      { kind: "conflict", stream: "account", id: "7" },
    ])
    await expect(append(5)).rejects.toThrow("an older batch")
  })

  test("continues after the database was killed and restarted, and loses nothing", async () => {
    const store = await node({ timeoutMs: 500 })
    await openAccount(on(store), "1", { name: "before" })
    postgres().stop("immediate")
    const late = await rejectionOf(openAccount(on(store), "2", { name: "meanwhile" }))
    expect(late).toBe("unavailable store.database_unreachable")
    // It serves its data, which has an age.
    expect(names(store)).toEqual(["before"])
    expect(store.node?.unseen()).toBeGreaterThan(500)
    postgres().start()
    await openAccount(on(store), "3", { name: "after" })
    expect(names(store)).toContain("after")
    expect(store.node?.unseen()).toBeLessThan(1000)
  })

  test("a process whose directory was taken over stops writing", async () => {
    const zombie = await node({ folder: "the same" })
    await openAccount(on(zombie), "1", { name: "before" })
    const next = await node({ folder: "the same" })
    expect(next.node?.part).toBe(zombie.node?.part)
    expect(await rejectionOf(openAccount(on(zombie), "2", { name: "late" }))).toBe(
      "unavailable store.database_taken_over",
    )
    expect(names(next)).toEqual(["before"])
  })

  test("nodes have separate ID ranges", async () => {
    const parts = [await node(), await node(), await node()].map((store) => store.node?.part)
    expect(parts).toEqual([0, 1, 2])
  })

  test("unusual texts are stored unchanged", async () => {
    const store = await node()
    const name = "a\0b\\0\\c \u{1F511} \ud800"
    await openAccount(on(store), "x\0y\\", { name, email: name })
    const remove = await leave(store)
    remove()
    const again = await node()
    expect(again.state({ instance: "i1" }, account, "x\0y\\")).toMatchObject({ name, email: name })
    expect(await rejectionOf(openAccount(on(again), "2", { name }))).toBe(
      "already_exists account.name_taken",
    )
  })

  test("has the events of another node after requesting the end of the log", async () => {
    const [one, two] = [await node(), await node()]
    for (let at = 0; at < 20; at++) {
      await openAccount(on(at % 2 ? one : two), `${at}`, { name: `n${at}` })
      const other = at % 2 ? two : one
      await other.node?.caughtUp()
      expect(names(other)).toHaveLength(at + 1)
    }
    await one.prune({ ...everything(), stopped: () => false })
    await Promise.all([one, two].map((store) => store.node?.caughtUp()))
  })

  const everything = () => ({
    now: world().clock.now() + 365 * day,
    auditedBefore: 0,
    position: Number.MAX_SAFE_INTEGER,
  })

  describe("when another server has taken over the database", () => {
    const takeOver = (lost = "") => asked(`${lost} UPDATE latchkey.log SET timeline = '00000000'`)

    test("continues if nothing was lost", async () => {
      const [one, two] = [await node(), await node()]
      await openAccount(on(one), "1", { name: "before" })
      await takeOver()
      await openAccount(on(two), "2", { name: "after" })
      await one.node?.caughtUp()
      await renameAccount(on(one), "2", "renamed")
      await two.node?.caughtUp()
      expect(names(two)).toEqual(["before", "renamed"])
      const { filename } = one.database
      await leave(one)
      expect(names(await node({ file: filename }))).toEqual(["before", "renamed"])
    })

    test("and lost its end, a node with the lost events rejects requests even before a write", async () => {
      const ahead = await node()
      await openAccount(on(ahead), "1", { name: "kept" })
      await openAccount(on(ahead), "2", { name: "lost" })
      await takeOver(
        "DELETE FROM latchkey.event WHERE position > 1; UPDATE latchkey.log SET position = 1;",
      )
      const refused = "unavailable store.database_behind"
      expect(await rejectionOf(ahead.node?.caughtUp() ?? Promise.resolve())).toBe(refused)
    })

    test("and lost its end, a node with the lost events rejects reads and writes", async () => {
      const ahead = await node()
      await openAccount(on(ahead), "1", { name: "kept" })
      const behind = await node()
      const { filename } = behind.database
      await leave(behind)
      await openAccount(on(ahead), "2", { name: "lost" })
      await takeOver(
        "DELETE FROM latchkey.event WHERE position > 1; UPDATE latchkey.log SET position = 1;",
      )
      const next = await node()
      for (const id of ["3", "4", "5"]) await openAccount(on(next), id, { name: `n${id}` })
      const refused = "unavailable store.database_behind"
      expect(await rejectionOf(ahead.node?.caughtUp() ?? Promise.resolve())).toBe(refused)
      expect(await rejectionOf(openAccount(on(ahead), "6", { name: "late" }))).toBe(refused)
      expect(names(next)).toEqual(["kept", "n3", "n4", "n5"])
      // A node that was not as far applies the new events instead.
      expect(names(await node({ file: filename }))).toEqual(["kept", "n3", "n4", "n5"])
    })
  })

  test("a new worker continues where the previous one stopped, including failures", async () => {
    const [one, two] = [await node(), await node()]
    const handled: string[] = []
    let leader = one
    const running = [one, two].map((store) =>
      runReactors(
        store,
        systemClock,
        [
          {
            name: "greeter",
            on: {
              "account.opened": async ({ id }) => {
                handled.push(`${store === one ? "one" : "two"} ${id}`)
                if (id === "2") throw new Error("cannot")
              },
            },
          },
        ],
        { isLeader: () => store === leader },
      ),
    )
    for (const id of ["1", "2", "3"]) await openAccount(on(one), id, { name: id })
    await expect.poll(() => handled.at(-1)).toBe("one 3")
    await running[0]?.drain()
    if (!two.node) throw new Error("it is no node")
    await shareReactorState(two, two.node, false)
    leader = two
    expect(listFailedEvents(two)).toMatchObject([
      { reactor: "greeter", failures: 1, error: "cannot" },
    ])
    await openAccount(on(one), "4", { name: "4" })
    await expect.poll(() => handled.at(-1)).toBe("two 4")
    expect(handled.filter((each) => !each.endsWith("2"))).toEqual(["one 1", "one 3", "two 4"])
    await Promise.all(running.map((each) => each.stop()))
  })

  test("retries requested at any node run on the worker", async () => {
    const [one, two] = [await node(), await node()]
    if (!one.node || !two.node) throw new Error("they are no nodes")
    const failure = { reactor: "greeter", position: 3, instance: "one", error: "cannot" }
    await one.node.failed({ ...failure, last: 1000 })
    await one.node.failed({ ...failure, position: 4, last: 1000 })
    await shareReactorState(one, one.node, true)
    await shareReactorState(two, two.node, false)
    const lasts = (store: Store) => listFailedEvents(store).map(({ last }) => last)
    expect(await retryFailedEvents(two, { instance: "one", position: 3 })).toBe(1)
    await shareReactorState(one, one.node, true)
    await shareReactorState(two, two.node, false)
    expect([lasts(one), lasts(two)]).toEqual([
      [0, 1000],
      [0, 1000],
    ])
  })

  test("adds tables that an older version did not create", async () => {
    const first = await node()
    await openAccount(on(first), "1", { name: "before" })
    await leave(first)
    await asked(`ALTER TABLE latchkey.log DROP COLUMN epoch, DROP COLUMN timeline;
      ALTER TABLE latchkey.node DROP COLUMN epoch, DROP COLUMN position;
      DROP TRIGGER chain ON latchkey.log; ALTER TABLE latchkey.log DROP COLUMN chain;
      DROP TABLE latchkey.epoch, latchkey.used, latchkey.failed_event, latchkey.chain;
      UPDATE latchkey.log SET schema = 1`)
    const again = await node()
    await openAccount(on(again), "2", { name: "after" })
    expect(names(again)).toEqual(["before", "after"])
  })
})
