// PostgreSQL while a dump is restored under running nodes: it has no log, or a part of it.
import { describe, expect, test } from "vitest"
import type { Store } from "../../src/store/index.ts"
import { needs } from "../support/prerequisite.ts"
import { allAccounts, modules, openAccount, rejectionOf } from "./account.ts"
import { testNodes } from "./node.ts"

describe.runIf(needs("postgres"))("a log that is being restored", () => {
  const { node, on, asked } = testNodes(modules)
  const names = (store: Store) => store.all({ instance: "i1" }, allAccounts).map(({ name }) => name)
  const caughtUp = async (store: Store) => store.node?.caughtUp()
  const needingLog = (store: Store): readonly (() => Promise<unknown>)[] => [
    () => caughtUp(store),
    () => openAccount(on(store), "2", { name: "refused" }),
  ]
  const others = (store: Store): readonly (() => Promise<unknown>)[] => [
    async () => store.node?.spendOnce("code", 1),
    async () => store.node?.lease("work", 1000),
    async () => store.node?.nodes(),
  ]

  test.each([
    [
      "with an empty table",
      "CREATE TABLE public.saved AS SELECT * FROM latchkey.log; DELETE FROM latchkey.log",
      "INSERT INTO latchkey.log SELECT * FROM public.saved; DROP TABLE public.saved",
    ],
    [
      "without a table",
      "ALTER TABLE latchkey.log RENAME TO log_away",
      "ALTER TABLE latchkey.log_away RENAME TO log",
    ],
    [
      "without a schema",
      "ALTER SCHEMA latchkey RENAME TO away",
      "ALTER SCHEMA away RENAME TO latchkey",
    ],
  ])("rejects requests temporarily %s, and continues", async (_, begin, end) => {
    const store = await node()
    await openAccount(on(store), "1", { name: "before" })
    await asked(begin)
    const refused = expect.stringMatching(/^unavailable store\.database_(incomplete|unreachable)$/)
    for (const request of needingLog(store)) expect(await rejectionOf(request())).toEqual(refused)
    // These have separate tables.
    for (const request of others(store)) {
      expect(["nothing", refused]).toContainEqual(await rejectionOf(request()))
    }
    await asked(end)
    await expect.poll(() => rejectionOf(caughtUp(store))).toBe("nothing")
    await openAccount(on(store), "3", { name: "after" })
    expect(names(store)).toEqual(["before", "after"])
  })
})
