// Nodes of two versions that share a log, as they do while one after the other is upgraded.
import { describe, expect, test } from "vitest"
import { aggregate, type Event, type Store, type Transaction } from "../../src/store/index.ts"
import { needs } from "../support/prerequisite.ts"
import { pause, until } from "../support/wait.ts"
import { account, accounts, allAccounts, openAccount, refusalOf, renameAccount } from "./account.ts"
import { testNodes } from "./node.ts"

type Filled = Event<"pot.filled", { cups: number }>
const fill = { type: "pot.filled", data: { cups: 1 } } as const

const pot = aggregate<Filled, number>({
  stream: "pot",
  initial: 0,
  evolve: { "pot.filled": (cups, { data }) => cups + data.cups },
})

/** One event type more, and another payload of the one that there was. */
const newerPot = aggregate<Filled | Event<"pot.emptied">, number>({
  stream: "pot",
  initial: 0,
  evolve: { "pot.filled": (cups, { data }) => cups + data.cups, "pot.emptied": () => 0 },
  upcasters: { "pot.filled": [(data, secret) => ({ data, private: secret })] },
})

type Poured = Event<"cup.poured", { from: string }, { guest: string }>

/** Two revisions of one payload: who may not wait for an upgrade can write the older one. */
const cup = aggregate<Event<"cup.poured", { from: string }>, number>({
  stream: "cup",
  initial: 0,
  evolve: { "cup.poured": (cups) => cups + 1 },
})
const newerCup = aggregate<Poured, number>({
  stream: "cup",
  initial: 0,
  evolve: { "cup.poured": (cups) => cups + 1 },
  upcasters: { "cup.poured": [(data) => ({ data, private: null })] },
  downcasters: { "cup.poured": (data) => ({ data, private: null }) },
})

const older = { aggregates: [account, pot, cup], views: [accounts] }
const newer = { aggregates: [account, newerPot, newerCup], views: [accounts] }

describe.runIf(needs("postgres"))("nodes of two versions that share a log", () => {
  const { node, leave, on, asked } = testNodes(older)
  const fills = (store: Store, kind: typeof pot | typeof newerPot) =>
    refusalOf(store.transact(on(store), (tx) => tx.append(kind, "1", [fill])))
  const empties = (store: Store) =>
    refusalOf(
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

  test("write nothing that one of them can't read, and all else", async () => {
    const [old, next] = [await node(), await node(newer)]
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

  test("write what is new once all can read it; then an older one says why it can't", async () => {
    const [old, next] = [await node(), await node(newer)]
    await fills(old, pot)
    const { filename } = old.database
    await leave(old)
    // It may come back as it was: nothing that it can't read is there.
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
    const upgraded = await node({ ...newer, file: filename })
    expect(upgraded.state({ instance: "i1" }, newerPot, "1")).toBe(0)
  })

  test("write the older payload of what can't wait, until all can read the newer one", async () => {
    const [old, next] = [await node(), await node(newer)]
    const pour = { type: "cup.poured", data: { from: "pot" }, private: { guest: "ada" } } as const
    const pours = (more: (tx: Transaction) => void = () => {}) =>
      refusalOf(
        next.transact(on(next), (tx) => {
          tx.append(newerCup, "1", [pour])
          more(tx)
        }),
      )
    // What it comes with has to wait, and takes it along; another step of the batch does not.
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

  test("one that was taken for gone answers nothing when it meets what it can't read", async () => {
    const said: unknown[] = []
    const paused = await node({ lost: (cause) => void said.push(cause) })
    const next = await node(newer)
    await forget(paused)
    expect(await empties(next)).toBe("nothing")
    const refused = "unavailable store.event_unreadable"
    expect(await refusalOf(paused.node?.caughtUp() ?? Promise.resolve())).toBe(refused)
    expect(await refusalOf(openAccount(on(paused), "1", { name: "late" }))).toBe(refused)
    expect(said).toContainEqual(expect.objectContaining({ id: "store.event_unreadable" }))
  })

  test("lose nothing while three are upgraded one by one under load", async () => {
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
        else if ((await refusalOf(openAccount(on(store), id, { name: `n${id}` }))) === "nothing") {
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
    /** The load goes on for a while, and the news are tried meanwhile. */
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
      nodes[at] = await node({ ...newer, file: filename })
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
