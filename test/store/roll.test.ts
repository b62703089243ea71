// What is told of a list by texts in memory, against plain SQL; blocks here are of three rows.
import { Database } from "bun:sqlite"
import { expect, test } from "vitest"
import { fold } from "../../src/kernel/name.ts"
import type { Bookmark } from "../../src/store/bookmark.ts"
import {
  blank,
  condition,
  type Filter,
  following,
  orderOf,
  type Searchable,
  sortsOf,
} from "../../src/store/condition.ts"
import { type Change, ledgerOf } from "../../src/store/ledger.ts"
import { isCarried, keysIn, rollOf } from "../../src/store/roll.ts"
import { keysBy } from "../../src/store/sorted.ts"
import { type Dice, dice } from "../support/dice.ts"

type Row = {
  readonly id: string
  readonly rank: number
  readonly name: string
  readonly state: string
  readonly mail: string
}

const what: Searchable = {
  ...{ table: "t", key: "id", sort: "rank", owner: {} },
  columns: ["rank", "name", "name_folded", "state", "mail", "mail_folded", "note"],
}
const place = {
  ...{ table: "t", name: "t_rank", key: "rank", raw: undefined, beside: [], isText: false },
  ...{ carried: ["id", "name", "state", "mail"], usual: undefined },
}

function open() {
  const database = new Database(":memory:", { strict: true })
  database.run(`CREATE TABLE t (instance TEXT NOT NULL, id TEXT NOT NULL, rank INTEGER NOT NULL,
    name TEXT NOT NULL, name_folded TEXT NOT NULL, state TEXT NOT NULL, mail TEXT NOT NULL,
    mail_folded TEXT NOT NULL, PRIMARY KEY (instance, id)) WITHOUT ROWID`)
  database.run("CREATE INDEX t_rank ON t (instance, rank, id, name, state, mail)")
  database.run("INSERT INTO t VALUES ('other', '1', 3, 'a', 'a', 'on', 'b', 'b')")
  const rows = new Map<string, Row>()
  const put = database.prepare("INSERT OR REPLACE INTO t VALUES ('i', ?, ?, ?, ?, ?, ?, ?)")
  const take = database.prepare("DELETE FROM t WHERE instance = 'i' AND id = ?")
  /** Answers what came and went, as triggers note it. */
  const write = (id: string, row: Row | undefined): readonly Change[] => {
    const before = rows.get(id)
    if (row) {
      const { rank, name, state, mail } = row
      put.run(id, rank, name, fold(name), state, mail, fold(mail))
      rows.set(id, row)
    } else {
      take.run(id)
      rows.delete(id)
    }
    const note = ({ rank }: Row, sign: number) => [{ key: rank, raw: null, row: null, sign }]
    return [...(before ? note(before, -1) : []), ...(row ? note(row, 1) : [])]
  }
  return { database, rows, write }
}

const letters = [
  ...["a", "A", "b", "é", "e\u0301", "\u0301", "Σ", "σ", "İ", "\u0307", "ﬁ", "ß", "1", "%"],
  ...["\u{1F600}", "\uFFFD", "\uD7FF", "\uE000", "\u{10FFFF}", "'", "\u1112", "\u1161", "."],
]
const word = ({ next, pick }: Dice) => Array.from({ length: next(4) }, () => pick(letters)).join("")
const states = ["on", "on", "on", "on", "on", "off", ""]

function filterOf(random: Dice, depth = 0): Filter {
  const { next, pick } = random
  const inner = () => Array.from({ length: next(4) }, () => filterOf(random, depth + 1))
  switch (next(depth > 2 ? 5 : 8)) {
    case 0:
      return { equals: "state", value: pick(states) }
    case 1: {
      const values = Array.from({ length: next(8) }, () => word(random))
      return { oneOf: pick(["name", "mail", "state"]), values: [...values, pick(states)] }
    }
    case 2:
      return { compare: "rank", by: pick(["<", "<=", ">", ">="]), value: next(40) / 2 - 1 }
    case 3:
      return pick<Filter>([
        { equals: "rank", value: next(20) },
        { oneOf: "id", values: [`${next(60)}`, `${next(60)}`] },
      ])
    case 4: {
      const text = pick(["name", "name_folded", "mail", "mail_folded", "state"])
      const value = pick([word(random), pick(letters), pick(letters)])
      const method = pick(["equals", "starts_with", "contains", "ends_with"] as const)
      return { text, method, value: text.endsWith("_folded") ? fold(value) : value }
    }
    case 5:
      return { any: inner() }
    case 6:
      return { not: filterOf(random, depth + 1) }
    default:
      return { all: inner() }
  }
}

/** Totals and pages as SQL has them. */
function plain(database: Database, filters: readonly Filter[]) {
  const all = (sort: string, asc: boolean, after: Bookmark | undefined) => {
    const built = blank()
    const where = condition(built, what, { all: filters })
    const onward = after ? ` AND ${following(built, what, { sort, asc, after })}` : ""
    const sql = `SELECT id FROM t WHERE instance = 'i' AND ${where}${onward}
      ${orderOf(what, { sort }, { asc })}`
    const values: Record<string, string | number> = {}
    for (const [name, value] of Object.entries(built.values)) {
      if (typeof value === "string" || typeof value === "number") values[name] = value
    }
    return database
      .query<{ id: string }, [typeof values]>(sql)
      .all(values)
      .map(({ id }) => id)
  }
  return all
}

test.each([1, 2, 3])("a roll tells what the table has, while rows come and go (%i)", (seed) => {
  const random = dice(seed * 7919)
  const { next, pick } = random
  const { database, rows, write } = open()
  const ledger = ledgerOf(database, place, "i", 3)
  for (let round = 0; round < 60; round++) {
    for (let time = next(20); time > 0; time--) {
      const id = `${next(60)}`
      const row = {
        id,
        rank: next(20),
        name: word(random),
        state: pick(states),
        mail: word(random),
      }
      ledger.note(write(id, next(4) === 0 ? undefined : row))
    }
    for (let time = 0; time < 12; time++) {
      const filters = Array.from({ length: 1 + next(2) }, () => filterOf(random))
      const told = JSON.stringify(filters)
      expect(
        filters.every((each) => isCarried(place, each)),
        told,
      ).toBe(true)
      const roll = rollOf(ledger, place, { key: "id", filters })
      if (!roll) throw new Error(`memory can't tell ${told}`)
      const wanted = plain(database, filters)
      expect(roll.total, told).toBe(wanted("rank", true, undefined).length)
      for (const sort of ["rank", "name_folded", "mail", "state", "id"]) {
        const [asc, offset, limit] = [next(2) === 0, next(3) && next(40), 1 + next(12)]
        const row = next(2) && rows.size > 0 ? pick([...rows.values()]) : undefined
        const after = row && { ...row, name_folded: fold(row.name) }
        const window = { asc, limit, offset: after ? 0 : offset, after }
        const by = sortsOf(what, { sort })
        const ids = sort === "rank" ? keysIn(roll, window) : keysBy(roll, { ...window, by })
        const [from, end] = after ? [0, limit] : [offset, offset + limit]
        expect(ids, told).toEqual(wanted(sort, asc, after).slice(from, end))
      }
    }
    if (next(9) === 0) ledger.forget()
    if (next(5) === 0) ledger.use([pick(["name", "mail"])], 0)
  }
  expect(ledger.blocks().length).toBeGreaterThan(5)
  ledger.use([], 0)
  expect(ledger.size()).toBe(0)
})

test("a page in another order is told of many rows, if it is near one of its ends", () => {
  const random = dice(11)
  const { database, write } = open()
  for (let count = 0; count < 9000; count++) {
    // Some names stand in the order of the list, some in its reverse, and many are alike.
    const name = random.pick([`a${count}`, `b${9000 - count}`, `A${count % 7}`, `c${count}`])
    write(`${count}`, { id: `${count}`, rank: count, name, state: "on", mail: `${count % 100}` })
  }
  const ledger = ledgerOf(database, place, "i", 40)
  const filters: readonly Filter[] = [{ not: { text: "name", method: "ends_with", value: "7" } }]
  const roll = rollOf(ledger, place, { key: "id", filters })
  if (!roll) throw new Error("memory can't tell")
  for (const sort of ["name", "name_folded", "mail", "id"]) {
    for (const asc of [true, false]) {
      const wanted = plain(database, filters)(sort, asc, undefined)
      const by = sortsOf(what, { sort })
      for (const offset of [0, 10, 1200, wanted.length - 30, wanted.length - 5]) {
        const ids = keysBy(roll, { by, asc, limit: 10, offset })
        expect(ids, `${sort} ${asc} ${offset}`).toEqual(wanted.slice(offset, offset + 10))
      }
      expect(keysBy(roll, { by, asc, limit: 5001, offset: 0 })).toBeUndefined()
      expect(keysBy(roll, { by, asc, limit: 10, offset: wanted.length })).toEqual([])
    }
  }
})

test("what the index does not carry, and texts with a separator in them, are the table's", () => {
  const { database, write } = open()
  const ledger = ledgerOf(database, place, "i", 3)
  const asked: Filter = { text: "name", method: "contains", value: "a" }
  const roll = () => rollOf(ledger, place, { key: "id", filters: [asked] })
  expect(roll()?.total).toBe(0)
  const row = (id: string, name: string) => ({ id, rank: 1, name, state: "on", mail: "" })
  ledger.note([...write("1", row("1", "a")), ...write("2", row("2", "b\u0001a"))])
  expect(roll()).toBeUndefined()
  ledger.note(write("2", row("2", "ba")))
  expect(roll()?.total).toBe(2)
  const across: Filter = { text: "name", method: "contains", value: "a\u0001b" }
  expect(rollOf(ledger, place, { key: "id", filters: [across] })?.total).toBe(0)
  expect(isCarried(place, { text: "note", method: "contains", value: "a" })).toBe(false)
  expect(isCarried(place, { any: [asked, { equals: "note", value: "a" }] })).toBe(false)
  expect(isCarried(place, { oneOf: "state", values: ["on", null] })).toBe(false)
  expect(isCarried({ ...place, carried: [] }, { compare: "rank", by: "<", value: 1 })).toBe(false)
  expect(isCarried(place, { ...asked, value: "\uD83D" })).toBe(false)
})
