// A dry run of the upgrade of a PostgreSQL log, next to writing nodes.
import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { systemClock } from "../../src/kernel/clock.ts"
import { postgresUndoMethod } from "../../src/store/index.ts"
import { oldestSchema, sharedSchema } from "../../src/store/shared/postgres-schema.ts"
import { inspectPostgresUpgrade } from "../../src/store/upgrade/postgres.ts"
import { needs } from "../support/prerequisite.ts"
import { modules, openAccount } from "./account.ts"
import { testNodes } from "./node.ts"

describe.runIf(needs("postgres"))("an upgrade of a log in PostgreSQL", () => {
  const { node, on, asked, url, postgres } = testNodes(modules)
  const found = () => inspectPostgresUpgrade(url(), systemClock)
  const whole = () =>
    asked(
      `SELECT a.attrelid::regclass::text AS place, a.attname::text AS name FROM pg_attribute a
       JOIN pg_class c ON c.oid = a.attrelid
       WHERE c.relnamespace = 'latchkey'::regnamespace AND a.attnum > 0 ORDER BY 1, 2`,
    )
  /** As a version without a chain leaves it, with another join function. */
  const olden = () =>
    asked(`DROP TRIGGER chain ON latchkey.log; ALTER TABLE latchkey.log DROP COLUMN chain;
      DROP TABLE latchkey.chain; DROP FUNCTION latchkey.begin_1;
      UPDATE latchkey.log SET schema = 9`)

  test("finds nothing to do in an empty database or one of this version", async () => {
    expect(await found()).toBeUndefined()
    const store = await node()
    await openAccount(on(store), "1", { name: "one" })
    expect(await found()).toMatchObject({
      schema: { from: sharedSchema, to: sharedSchema },
      position: 1,
      objects: [],
      ms: 0,
    })
  })

  test("is counted by a rolled back dry run while a node writes", async () => {
    const store = await node()
    await openAccount(on(store), "1", { name: "one" })
    await olden()
    const before = await whole()
    const upgrade = await found()
    expect(await whole()).toEqual(before)
    expect(await asked("SELECT schema FROM latchkey.log")).toEqual([{ schema: 9 }])
    expect(upgrade).toMatchObject({ schema: { from: 9, to: sharedSchema }, oldest: oldestSchema })
    const changed = Object.fromEntries(
      (upgrade?.objects ?? []).map(({ kind, before: was, after, changed: names }) => [
        kind,
        [after - was, names],
      ]),
    )
    expect(changed).toMatchObject({
      tables: [1, ["chain"]],
      indexes: [1, ["chain_pkey"]],
      functions: [1, ["begin_1"]],
    })
    expect(changed.columns?.[1]).toContain("log.chain")
  })

  test("fails if another session holds the log, and leaves no locks", async () => {
    await node()
    await olden()
    const sql = postgres().sql(url())
    const held = Promise.withResolvers<void>()
    const over = Promise.withResolvers<void>()
    const holding = sql.begin(async (tx) => {
      await tx.unsafe("SELECT 1 FROM latchkey.log FOR UPDATE")
      held.resolve()
      await over.promise
    })
    await held.promise
    await expect(found()).rejects.toMatchObject({ code: "unavailable" })
    over.resolve()
    await holding
    await sql.close()
    expect((await found())?.objects).not.toEqual([])
  })

  test("rejects a log of a newer version", async () => {
    await node()
    await asked("UPDATE latchkey.log SET schema = 99, oldest = 99")
    await expect(found()).rejects.toThrow(/was written by a newer version of Latchkey/)
  })

  test("has a documented undo", () => {
    const change = "tables, columns and functions are added in the schema `latchkey`"
    const row = `| PostgreSQL | ${change} | ${postgresUndoMethod}, see below |`
    expect(readFileSync("docs/operate/upgrade.md", "utf8")).toContain(row)
  })
})
