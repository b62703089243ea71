// Concurrent decisions about the same stream, on nodes whose log is in PostgreSQL.
import { describe, expect, test } from "vitest"
import type { Store } from "../../src/store/index.ts"
import { needs } from "../support/prerequisite.ts"
import { pause } from "../support/wait.ts"
import {
  account,
  allAccounts,
  modules,
  moveAccount,
  openAccount,
  rejectionOf,
  reserveCode,
} from "./account.ts"
import { testNodes } from "./node.ts"

describe.runIf(needs("postgres"))("transactions of nodes whose log is in PostgreSQL", () => {
  const { node, leave, on, asked } = testNodes(modules)

  test("a node that wrote more than a page has all of it, as others do", async () => {
    const [one, two] = [await node(), await node()]
    const names = Array.from({ length: 1200 }, (_, at) => `n${at}`)
    await one.transact(on(one), (tx) => {
      openAccount.within(tx, "1", { name: "n" })
      moveAccount.within(tx, "1", "new@example.com")
      const renamed = names.map((name) => ({ type: "account.renamed", data: { name } }) as const)
      tx.append(account, "1", renamed)
    })
    const shown = (store: Store) => [
      store.receipt({ instance: "i1" }, account, "1")?.version,
      store.state({ instance: "i1" }, account, "1"),
      store.all({ instance: "i1" }, allAccounts).map(({ name }) => name),
    ]
    await two.node?.caughtUp()
    const state = { status: "open", name: "n1199", email: "new@example.com" }
    expect([shown(one), shown(two)]).toEqual([
      [1202, state, ["n1199"]],
      [1202, state, ["n1199"]],
    ])
    // The file contains it, too.
    const { filename } = one.database
    await leave(one)
    expect(shown(await node({ file: filename }))).toEqual(shown(two))
  })

  test("a transaction based on stale state is decided again, or rejected", async () => {
    const store = await node()
    const opened: Promise<unknown>[] = []
    for (let round = 0; round < 30; round++) {
      opened.push(rejectionOf(openAccount(on(store), "1", { name: `n${round}` })))
      await pause(1, "the decisions must come at different moments of the node's work")
    }
    const results = await Promise.all(opened)
    expect(results.filter((each) => each === "nothing")).toHaveLength(1)
    expect(new Set(results)).toEqual(new Set(["nothing", "already_exists account.exists"]))
  })

  test("a transaction that loses a claim is decided again, and may do without it", async () => {
    const nodes = [await node(), await node()]
    const name = "the only one"
    const claims = [{ take: "name", key: name, taken: { id: "taken", message: "taken" } }]
    const opened = {
      type: "account.opened",
      data: { name },
      private: { email: "" },
      claims,
    } as const
    const first = (store: Store, id: string) =>
      store.transact(on(store), (tx) => {
        if (tx.holder("name", name)) return
        tx.append(account, id, [opened])
      })
    await Promise.all(nodes.flatMap((store, at) => [first(store, `${at}`), first(store, `${at}b`)]))
    await Promise.all(nodes.map((store) => store.node?.caughtUp()))
    for (const store of nodes) {
      expect(store.all({ instance: "i1" }, allAccounts).map((row) => row.name)).toEqual([name])
    }
  })

  test("a transaction that the database can't store fails alone", async () => {
    const store = await node()
    await asked("ALTER TABLE latchkey.claim ADD CHECK (key <> 'odd')")
    const names = ["one", "two", "odd", "three"]
    const opened = await Promise.allSettled(
      names.map((name, at) => openAccount(on(store), `${at}`, { name })),
    )
    const rejected = opened.flatMap((each) => (each.status === "rejected" ? [each.reason] : []))
    expect(rejected.map(String)).toEqual([expect.stringContaining("violates check constraint")])
    const there = store.all({ instance: "i1" }, allAccounts).map(({ name }) => name)
    expect(there.sort()).toEqual(["one", "three", "two"])
    await openAccount(on(store), "4", { name: "four" })
  })

  test("fractional expiry times are stored in whole milliseconds", async () => {
    const store = await node()
    const expires = Date.now() + 60_000.25
    for (const [at, until] of [expires, 1e300].entries()) {
      await openAccount(on(store), `${at}`, { name: `n${at}` })
      await reserveCode(on(store), `${at}`, { code: `c${at}`, expires: until })
    }
    const kept = await asked<{ expires: string }>(
      "SELECT expires FROM latchkey.claim WHERE kind = 'code' ORDER BY key",
    )
    expect(kept.map((row) => Number(row.expires))).toEqual([
      Math.ceil(expires),
      Number.MAX_SAFE_INTEGER,
    ])
    const firsts = [1, 2].map(() => store.node?.spendOnce("use", expires))
    expect((await Promise.all(firsts)).filter(Boolean)).toHaveLength(1)
  })
})
