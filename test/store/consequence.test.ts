// Consequences of an event are written in the same transaction, whatever else is decided
// concurrently.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { Consequences, Store } from "../../src/store/index.ts"
import { needs } from "../support/prerequisite.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import {
  account,
  accounts,
  allAccounts,
  openAccount,
  rejectionOf,
  renameAccount,
} from "./account.ts"
import { testNodes } from "./node.ts"

/** Only one account at a time is the winner: others lose the name. */
const consequences: Consequences = {
  name: "succession",
  on: {
    "account.renamed": ({ id, data }) => {
      if (!("name" in data) || !String(data.name).startsWith("winner")) return undefined
      return ({ cx, tx }) => {
        for (const { id: other } of cx.store.all(cx, allAccounts)) {
          if (other === id || !tx.state(account, other).name.startsWith("winner")) continue
          renameAccount.within(tx, other, `loser ${other}`)
        }
      }
    },
  },
}
const modules = { aggregates: [{ ...account, consequences: [consequences] }], views: [accounts] }

const namesIn = (store: Store, instance: string) =>
  store.all({ instance }, allAccounts).map(({ name }) => name)

describe("the consequence of an event", () => {
  let world: TestEnvironment
  beforeEach(async () => {
    world = openTestEnvironment(modules)
    for (const id of ["1", "2"]) await openAccount(world.cx(), id, { name: `n${id}` })
  })
  afterEach(() => world.close())
  const names = () => namesIn(world.store, world.cx().instance)

  test("is appended in its transaction, by the server", async () => {
    const caller = { kind: "user", userId: "ada", orgId: "o", clientId: "c" } as const
    await renameAccount(world.cx({ caller }), "1", "winner 1")
    await renameAccount(world.cx({ caller }), "2", "winner 2")
    expect(names()).toEqual(["loser 1", "winner 2"])
    const events = await world.store.log.read(3, 10)
    expect(events.map(({ id, editor }) => [id, editor.user])).toEqual([
      ["2", "ada"],
      ["1", "succession"],
    ])
  })

  test("is rejected with it", async () => {
    await renameAccount(world.cx(), "1", "winner 1")
    await openAccount(world.cx(), "3", { name: "loser 1" })
    const refusal = await rejectionOf(renameAccount(world.cx(), "2", "winner 2"))
    expect(refusal).toBe("already_exists account.name_taken")
    expect(names()).toEqual(["winner 1", "n2", "loser 1"])
  })
})

describe.runIf(needs("postgres"))("on nodes whose log is in PostgreSQL", () => {
  const { node, on } = testNodes(modules)

  test("the later of two concurrent events applies", async () => {
    const [one, two] = [await node(), await node()]
    for (const id of ["1", "2"]) await openAccount(on(one), id, { name: `n${id}` })
    await two.node?.caughtUp()
    for (let round = 0; round < 10; round++) {
      await Promise.all([
        renameAccount(on(one), "1", `winner 1-${round}`),
        renameAccount(on(two), "2", `winner 2-${round}`),
      ])
      await one.node?.caughtUp()
      await two.node?.caughtUp()
      const winners = namesIn(one, "i1").filter((name) => name.startsWith("winner"))
      expect(winners).toHaveLength(1)
      expect(namesIn(two, "i1")).toEqual(namesIn(one, "i1"))
    }
  })
})
