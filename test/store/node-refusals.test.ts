// A node that can't use its log reports the reason and changes nothing.
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { type Clock, systemClock } from "../../src/kernel/clock.ts"
import { Fault } from "../../src/kernel/fault.ts"
import type { PostgresClient } from "../../src/store/shared/postgres-client.ts"
import { prepareLog } from "../../src/store/shared/postgres-log.ts"
import { needs } from "../support/prerequisite.ts"
import {
  allAccounts,
  modules,
  openAccount,
  openFile,
  rejectionOf,
  renameAccount,
  temporaryFile,
} from "./account.ts"
import { openTestNode, testNodes } from "./node.ts"

describe.runIf(needs("postgres"))("a node reports in plain language", () => {
  const { node, leave, on, asked, url, postgres } = testNodes(modules)
  const refused = async (parts: Partial<Parameters<typeof openTestNode>[0]>) => {
    const { file, remove } = temporaryFile()
    const cause: unknown = await openTestNode({
      ...modules,
      file,
      url: url(),
      timeoutMs: 500,
      ...parts,
    })
      .then(() => "it opened")
      .catch((each: unknown) => each)
    remove()
    return cause instanceof Fault ? `${cause.id}: ${cause.message}` : cause
  }

  test("a missing database, and an unreachable host", async () => {
    const other = url().replace(/test\d+/, "nothing")
    expect(await refused({ url: other })).toMatch(/^store\.database_missing: .*"nothing"/)
    const nowhere = "postgres://latchkey@127.0.0.1:1/x"
    expect(await refused({ url: nowhere })).toMatch(/^store\.database_unreachable: /)
    const stranger = url().replace("latchkey@", "stranger@")
    expect(await refused({ url: stranger })).toMatch(/^store\.database_refused: .*stranger/)
  })

  test("a database without CREATE, a read-only one, and one with another encoding", async () => {
    await asked("CREATE ROLE guest LOGIN")
    expect(await refused({ url: url().replace("latchkey@", "guest@") })).toMatch(
      /^store\.database_denied: /,
    )
    await asked("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    const name = url().match(/test\d+/)?.[0]
    await asked(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    expect(await refused({})).toMatch(/^store\.database_read_only: /)
    expect(await refused({ url: url().replace(/test\d+/, "latin") })).toMatch(
      /^start\.database_encoding: .*LATIN1/,
    )
  })

  test("another master key, a newer version, and a log that has lost data", async () => {
    const store = await node()
    await openAccount(on(store), "1", { name: "one" })
    expect(await refused({ fingerprint: "other" })).toMatch(/^start\.master_key_wrong: /)
    const { filename } = store.database
    await leave(store)
    await asked("DELETE FROM latchkey.event; UPDATE latchkey.log SET position = 0")
    expect(await refused({ file: filename })).toMatch(/^store\.database_behind: .*position 1/)
    await asked("UPDATE latchkey.log SET schema = 99, position = 0")
    const beside = await node()
    await leave(beside)
    await asked("UPDATE latchkey.log SET oldest = 99")
    expect(await refused({})).toMatch(/^start\.database_newer: .*schema 99/)
  })

  test("a directory with its own or another log, and a part without its log", async () => {
    const { file, remove } = temporaryFile()
    const alone = openFile(file, modules)
    await openAccount(on(alone), "1", { name: "alone" })
    await alone.close()
    expect(await refused({ file })).toMatch(/^start\.log_own: /)
    remove()
    const store = await node()
    await openAccount(on(store), "1", { name: "shared" })
    const { filename } = store.database
    await leave(store)
    expect(() => openFile(filename, modules)).toThrow(
      /this data directory belongs to a log in PostgreSQL/,
    )
    const empty = await postgres().database()
    expect(await refused({ file: filename, url: empty })).toMatch(/^start\.database_empty: /)
    const elsewhere = await openTestNode({ ...modules, file: `${filename}-b`, url: empty })
    await elsewhere.close()
    expect(await refused({ file: filename, url: empty })).toMatch(/^start\.database_other: /)
    rmSync(filename)
  })

  test("a wrong password", async () => {
    await asked("CREATE ROLE careful LOGIN SUPERUSER PASSWORD 'right'")
    const [row] = await asked<{ hba_file: string }>("SHOW hba_file")
    const file = row?.hba_file ?? ""
    const before = readFileSync(file, "utf8")
    writeFileSync(file, `local all careful scram-sha-256\n${before}`)
    await asked("SELECT pg_reload_conf()")
    const as = (password: string) => url().replace("latchkey@", `careful:${password}@`)
    try {
      await expect
        .poll(() => refused({ url: as("wrong") }))
        .toMatch(/^store\.database_refused: .*careful.*check the user, password/)
      expect(await asked("SELECT 1 FROM pg_namespace WHERE nspname = 'latchkey'")).toEqual([])
      expect(await refused({ url: as("right") })).toBe("it opened")
    } finally {
      writeFileSync(file, before)
    }
  })

  test("a server that is too old, without further requests", async () => {
    const texts: string[] = []
    const old: PostgresClient = {
      query: async (text) => {
        texts.push(text)
        return JSON.parse('[{"version":130014,"encoding":"UTF8","standby":false}]')
      },
      listen: async () => undefined,
      close: async () => undefined,
    }
    const place = { position: 0, number: 0, epoch: 0 }
    const preparing = { fingerprint: "key", fresh: () => "1", clock: systemClock, place }
    await expect(prepareLog(old, { ...preparing, follows: undefined })).rejects.toMatchObject({
      id: "start.database_old",
      message: "PostgreSQL 13 is too old; use version 14 or later",
    })
    expect(texts).toHaveLength(1)
  })

  test("a read-only replica", async () => {
    const store = await node()
    await openAccount(on(store), "1", { name: "one" })
    const replica = postgres().replica()
    try {
      const path = new URL(url()).pathname
      const its = replica.cluster.replace("/postgres?", `${path}?`)
      expect(await refused({ url: its })).toMatch(/^start\.database_replica: .*name the primary/)
    } finally {
      replica.remove()
    }
  })

  describe("a clock that is off by a minute", () => {
    const off = (ms: () => number): Clock => ({
      ...systemClock,
      now: () => systemClock.now() + ms(),
    })
    const positions = () => asked<{ position: string }>("SELECT position FROM latchkey.log")

    test("at the start", async () => {
      expect(await refused({ clock: off(() => 60_000) })).toMatch(/^store\.clock_odd: .*60 s ahead/)
      expect(await refused({ clock: off(() => -60_000) })).toMatch(/^store\.clock_odd: .*behind/)
      expect(await asked("SELECT part FROM latchkey.node")).toEqual([])
    })

    test("during operation: it rejects reads and writes until the clock is right", async () => {
      let ms = 0
      const said: unknown[] = []
      const store = await node({ clock: off(() => ms), lost: (cause) => void said.push(cause) })
      await openAccount(on(store), "1", { name: "before" })
      const before = await positions()
      ms = 60_000
      const odd = "unavailable store.clock_odd"
      expect(await rejectionOf(openAccount(on(store), "2", { name: "late" }))).toBe(odd)
      expect(await rejectionOf(store.node?.caughtUp() ?? Promise.resolve())).toBe(odd)
      await expect
        .poll(() => said)
        .toContainEqual(expect.objectContaining({ id: "store.clock_odd" }))
      expect(await positions()).toEqual(before)
      ms = 0
      await store.node?.caughtUp()
      await openAccount(on(store), "3", { name: "after" })
      expect(store.all({ instance: "i1" }, allAccounts).map(({ name }) => name)).toEqual([
        "before",
        "after",
      ])
    })
  })

  test("the result of a batch is returned, whatever the clock shows since", async () => {
    await openAccount(on(await node()), "1", { name: "before" })
    type Sent = { readonly part: number; readonly run: string; readonly batch: string }
    const [sent] = await asked<Sent>("SELECT part, run, batch FROM latchkey.node")
    const again = (batch: number) => {
      const late = [Date.now() + 60_000, 10_000]
      const values = [sent?.part, `'${sent?.run}'`, batch, "'[]'", 0, 0, 1, ...late]
      return asked(`SELECT latchkey.append_2(${values.join(", ")})`)
    }
    expect(await again(Number(sent?.batch))).toHaveLength(1)
    await expect(again(Number(sent?.batch) + 1)).rejects.toMatchObject({ errno: "LK008" })
  })

  test("a directory that was offline for longer than deletions are recorded", async () => {
    const one = await node()
    await openAccount(on(one), "1", { name: "one" })
    const away = await node()
    const { filename } = away.database
    await leave(away)
    for (const name of ["two", "three"]) await renameAccount(on(one), "1", name)
    const weekAgo = (part: number | undefined) =>
      asked(`UPDATE latchkey.node SET seen = seen - interval '8 days' WHERE part = ${part}`)
    // Nothing that it missed was deleted: it applies that.
    await weekAgo(away.node?.part)
    const back = await node({ file: filename })
    expect(back.all({ instance: "i1" }, allAccounts)).toMatchObject([{ name: "three" }])
    await leave(back)
    for (const name of ["four", "five"]) await renameAccount(on(one), "1", name)
    await weekAgo(back.node?.part)
    await one.prune({ now: Date.now(), auditedBefore: 0, position: 0, stopped: () => false })
    expect(await asked("SELECT 1 FROM latchkey.change")).toEqual([])
    const before = readFileSync(filename)
    expect(await refused({ file: filename })).toMatch(
      /^store\.database_away: .*start with an empty one/,
    )
    expect(readFileSync(filename).equals(before)).toBe(true)
    const anew = await node()
    expect(anew.all({ instance: "i1" }, allAccounts)).toMatchObject([{ name: "five" }])
  })

  test("objects of other users in that database are never called", async () => {
    await asked(`CREATE FUNCTION public.times(integer, interval) RETURNS interval LANGUAGE plpgsql
      AS $$ BEGIN RAISE 'called by %', current_user; END $$`)
    await asked(`CREATE OPERATOR public.* (
      FUNCTION = public.times, LEFTARG = integer, RIGHTARG = interval)`)
    const store = await node()
    expect(await store.node?.lease("work", 1000)).toBe(true)
  })
})
