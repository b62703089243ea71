// Nodes of two versions that share a log, as during a rolling upgrade.
import { describe, expect, test } from "vitest"
import { aggregate, type Event, type Store, type Transaction } from "../../src/store/index.ts"
import { needs } from "../support/prerequisite.ts"
import { pause, until } from "../support/wait.ts"
import {
  account,
  accounts,
  allAccounts,
  openAccount,
  rejectionOf,
  renameAccount,
} from "./account.ts"
import { testNodes } from "./node.ts"

type Filled = Event<"pot.filled", { cups: number }>
const fill = { type: "pot.filled", data: { cups: 1 } } as const

const pot = aggregate<Filled, number>({
  stream: "pot",
  initial: 0,
  evolve: { "pot.filled": (cups, { data }) => cups + data.cups },
})

/** One more event type, and another payload of the existing one. */
const newerPot = aggregate<Filled | Event<"pot.emptied">, number>({
  stream: "pot",
  initial: 0,
  evolve: { "pot.filled": (cups, { data }) => cups + data.cups, "pot.emptied": () => 0 },
  upcasters: { "pot.filled": [(data, secret) => ({ data, private: secret })] },
})

type NewerPoured = Event<"cup.poured", { from: string }, { guest: string }>

/** Two revisions of one payload: events that can't wait for an upgrade use the older one. */
const cup = aggregate<Event<"cup.poured", { from: string }>, number>({
  stream: "cup",
  initial: 0,
  evolve: { "cup.poured": (cups) => cups + 1 },
})
const newerCup = aggregate<NewerPoured, number>({
  stream: "cup",
  initial: 0,
  evolve: { "cup.poured": (cups) => cups + 1 },
  upcasters: { "cup.poured": [(data) => ({ data, private: null })] },
  downcasters: { "cup.poured": (data) => ({ data, private: null }) },
})

const olderModules = { aggregates: [account, pot, cup], views: [accounts] }
const newerModules = { aggregates: [account, newerPot, newerCup], views: [accounts] }

describe.runIf(needs("postgres"))("nodes of two versions that share a log", () => {
  const { node, leave, on, asked } = testNodes(olderModules)
  const fills = (store: Store, kind: typeof pot | typeof newerPot) =>
    rejectionOf(store.transact(on(store), (tx) => tx.append(kind, "1", [fill])))
  const empties = (store: Store) =>
    rejectionOf(
      store.transact(on(store), (tx) =>
        tx.append(newerPot, "1", [{ type: "pot.emptied", data: {} }]),
      ),
    )
  const forget = (store: Store) =>
    asked(
      `UPDATE latchkey.node SET seen = seen - interval '2 minutes'
       WHERE part = ${store.node?.part}`,
    )
  const early = "unavailable store.nodes_older"

  test("write only what all of them can read", async () => {
    const [old, next] = [await node(), await node(newerModules)]
    expect(await fills(old, pot)).toBe("nothing")
    const refused = fills(next, newerPot)
    const taken = openAccount(on(next), "1", { name: "one" })
    expect([await refused, await empties(next)]).toEqual([early, early])
    await taken
    await old.node?.caughtUp()
    await renameAccount(on(old), "1", "renamed")
    await next.node?.caughtUp()
    expect(next.all({ instance: "i1" }, allAccounts).map(({ name }) => name)).toEqual(["renamed"])
    expect(next.state({ instance: "i1" }, newerPot, "1")).toBe(1)
    const types = await asked<{ type: string }>(
      "SELECT type FROM latchkey.event WHERE stream = 'pot'",
    )
    expect(types).toEqual([{ type: "pot.filled" }])
  })

  test("write new types once all can read them; an older node then reports why it can't", async () => {
    const [old, next] = [await node(), await node(newerModules)]
    await fills(old, pot)
    const { filename } = old.database
    await leave(old)
    // It can return unchanged: nothing that it can't read exists.
    const back = await node({ file: filename })
    await leave(back)
    expect(await empties(next)).toBe(early)
    await forget(back)
    expect([await fills(next, newerPot), await empties(next)]).toEqual(["nothing", "nothing"])
    const again = node({ file: filename })
    await expect(again).rejects.toMatchObject({
      id: "store.database_newer",
      message: expect.stringContaining("pot/pot."),
    })
    await expect(node()).rejects.toMatchObject({ id: "store.database_newer" })
    const upgraded = await node({ ...newerModules, file: filename })
    expect(upgraded.state({ instance: "i1" }, newerPot, "1")).toBe(0)
  })

  test("write the older payload of urgent events until all can read the newer one", async () => {
    const [old, next] = [await node(), await node(newerModules)]
    const pour = { type: "cup.poured", data: { from: "pot" }, private: { guest: "ada" } } as const
    const pours = (more: (tx: Transaction) => void = () => {}) =>
      rejectionOf(
        next.transact(on(next), (tx) => {
          tx.append(newerCup, "1", [pour])
          more(tx)
        }),
      )
    // The transaction waits with this event; another one of the batch does not.
    const waits = pours((tx) => tx.append(newerPot, "1", [fill]))
    expect([await pours(), await waits]).toEqual(["nothing", early])
    const stored = () =>
      asked<{ revision: number; private: string | null }>(
        "SELECT revision, private FROM latchkey.event WHERE stream = 'cup' ORDER BY position",
      )
    expect(await stored()).toEqual([{ revision: 1, private: null }])
    await old.node?.caughtUp()
    expect(old.state({ instance: "i1" }, cup, "1")).toBe(1)
    expect(next.state({ instance: "i1" }, newerCup, "1")).toBe(1)
    await leave(old)
    await forget(old)
    expect(await pours()).toBe("nothing")
    expect(await stored()).toMatchObject([{ revision: 1 }, { revision: 2 }])
    expect((await stored())[1]?.private).toContain("ada")
    const part = { instance: "i1", stream: "cup", id: "1", asc: true, limit: 9 }
    expect(await next.log.history(part)).toMatchObject([
      { revision: 2, private: null },
      { revision: 2, private: { guest: "ada" } },
    ])
  })

  test("a node that was considered gone does not respond once it reads an unknown event", async () => {
    const said: unknown[] = []
    const paused = await node({ lost: (cause) => void said.push(cause) })
    const next = await node(newerModules)
    await forget(paused)
    expect(await empties(next)).toBe("nothing")
    const refused = "unavailable store.event_unreadable"
    expect(await rejectionOf(paused.node?.caughtUp() ?? Promise.resolve())).toBe(refused)
    expect(await rejectionOf(openAccount(on(paused), "1", { name: "late" }))).toBe(refused)
    expect(said).toContainEqual(expect.objectContaining({ id: "store.event_unreadable" }))
  })

  test("lose no data while three are upgraded one by one under load", async () => {
    const nodes: (Store | undefined)[] = [await node(), await node(), await node()]
    const acknowledged: string[] = []
    const [before, after]: [unknown[], unknown[]] = [[], []]
    let count = 0
    let [begun, upgraded] = [0, 0]
    let isOver = false
    const write = async (at: number) => {
      while (!isOver) {
        const [store, id] = [nodes[at], `${count++}`]
        if (!store) await until(() => isOver || nodes[at], { intervalMs: 1 })
        else if (
          (await rejectionOf(openAccount(on(store), id, { name: `n${id}` }))) === "nothing"
        ) {
          acknowledged.push(id)
        }
      }
    }
    const writeNews = async () => {
      while (!isOver) {
        const areAllNew = upgraded === nodes.length
        const store = upgraded > 0 ? nodes[upgraded - 1] : undefined
        const result = store && (await empties(store))
        if (result && areAllNew) after.push(result)
        else if (result && begun < nodes.length) before.push(result)
        await pause(5, "these are few beside the load")
      }
    }
    const load = [0, 1, 2, 0, 1, 2].map(write)
    load.push(writeNews())
    /** Continues the load for a while and tries the new events meanwhile. */
    const goesOn = async (news: readonly unknown[], most: number) => {
      const [written, told] = [acknowledged.length, news.length]
      await until(() => acknowledged.length >= written + 30 && news.length >= told + most)
    }
    const { length } = nodes
    for (let at = 0; at < length; at++) {
      await goesOn(before, at === 0 ? 0 : 2)
      const old = nodes[at]
      if (!old) throw new Error("there are three")
      nodes[at] = undefined
      const { filename } = old.database
      await leave(old)
      begun++
      nodes[at] = await node({ ...newerModules, file: filename })
      upgraded++
    }
    await goesOn(after, 2)
    isOver = true
    await Promise.all(load)
    await Promise.all(nodes.map((store) => store?.node?.caughtUp()))
    for (const store of nodes) {
      const rows = store?.all({ instance: "i1" }, allAccounts)
      const ids = new Set(rows?.map(({ id }) => id))
      expect(acknowledged.filter((id) => !ids.has(id))).toEqual([])
    }
    expect(acknowledged.length).toBeGreaterThan(100)
    expect(before.length).toBeGreaterThan(3)
    expect(new Set(before)).toEqual(new Set([early]))
    expect(new Set(after)).toEqual(new Set(["nothing"]))
  })
})
