// What an index holds, counted in memory, against the table itself; blocks here are of three rows.
import { Database } from "bun:sqlite"
import { expect, test } from "vitest"
import { type Change, type Ledger, ledgerOf, order } from "../../src/store/ledger.ts"
import { dice } from "../support/dice.ts"

type Row = { readonly id: number; readonly raw: string; readonly rank: number }

function open() {
  const database = new Database(":memory:", { strict: true })
  database.run(`CREATE TABLE t (instance TEXT NOT NULL, id INTEGER NOT NULL, key TEXT NOT NULL,
    raw TEXT NOT NULL, rank INTEGER NOT NULL, PRIMARY KEY (instance, id)) WITHOUT ROWID`)
  database.run("CREATE INDEX t_key ON t (instance, key, raw)")
  database.run("CREATE INDEX t_rank ON t (instance, rank)")
  const rows = new Map<number, Row>()
  const put = database.prepare("INSERT OR REPLACE INTO t VALUES ('i', ?, ?, ?, ?)")
  const take = database.prepare("DELETE FROM t WHERE id = ?")
  database.run("INSERT INTO t VALUES ('other', 1, 'b', 'B', 3)")
  /** Answers what came and went, as triggers note it. */
  const write = (id: number, row: Row | undefined): readonly (Row & { sign: number })[] => {
    const before = rows.get(id)
    if (row) {
      put.run(id, row.raw.toLowerCase(), row.raw, row.rank)
      rows.set(id, row)
    } else {
      take.run(id)
      rows.delete(id)
    }
    return [...(before ? [{ ...before, sign: -1 }] : []), ...(row ? [{ ...row, sign: 1 }] : [])]
  }
  return { database, rows, write }
}

const whole = { table: "t", beside: [], carried: [], usual: undefined }
const place = { ...whole, name: "t_key", key: "key", raw: "raw", isText: true }
const ranks = { ...whole, name: "t_rank", key: "rank", raw: undefined, isText: false }
const letters = ["a", "A", "b", "B", "aB", "\u{1F600}", "\uFFFD", "é", "%", "_"]

function ledgers(database: Database) {
  const text = ledgerOf(database, place, "i", 3)
  const number = ledgerOf(database, ranks, "i", 3)
  const note = (changes: readonly (Row & { sign: number })[]) => {
    const texts: Change[] = changes.map(({ raw, sign }) => ({
      key: raw.toLowerCase(),
      raw,
      row: null,
      sign,
    }))
    text.note(texts)
    number.note(changes.map(({ rank, sign }) => ({ key: rank, raw: null, row: null, sign })))
  }
  return { text, number, note }
}

/** All of its answers, against those of the rows. */
function compare(rows: readonly Row[], text: Ledger, number: Ledger): void {
  const keys = rows.map(({ raw }) => raw.toLowerCase()).sort(order)
  const bounds = ["", "a", "ab", "b", "é", "\uFFFD", "\u{1F600}", "\u{1F600}a"]
  expect(text.rows()).toBe(keys.length)
  for (const from of bounds) {
    for (const below of [...bounds, undefined]) {
      const within = (key: string) =>
        order(key, from) >= 0 && (below === undefined || order(key, below) < 0)
      expect(text.rows({ from, below }), `${from} to ${below}`).toBe(keys.filter(within).length)
    }
  }
  for (const [rank, key] of keys.entries()) {
    const { from, skip } = text.at(rank)
    const first = keys.findIndex((each) => order(each, from) >= 0)
    expect([keys[first + skip], first + skip]).toEqual([key, rank])
  }
  for (let from = -1; from < 8; from++) {
    const found = rows.filter(({ rank }) => rank >= from && rank < 5).length
    expect(number.rows({ from, below: 5 })).toBe(found)
  }
  for (const value of ["a", "B", "ab", "é", "%", "\u{1F600}"]) {
    for (const how of ["equals", "starts_with", "contains", "ends_with"] as const) {
      const fits = {
        equals: (one: string) => one === value,
        starts_with: (one: string) => one.startsWith(value),
        contains: (one: string) => one.includes(value),
        ends_with: (one: string) => one.endsWith(value),
      }[how]
      for (const as of ["key", "raw"] as const) {
        const all = rows.map(({ raw }) => (as === "key" ? raw.toLowerCase() : raw)).filter(fits)
        const few = text.held({ as, how, value, few: 4 })
        expect([few?.rows, few?.texts?.toSorted()]).toEqual([
          all.length,
          all.length <= 4 ? all.sort() : undefined,
        ])
      }
    }
  }
}

test.each([1, 2, 3])("a ledger says what the table has, while rows come and go (%i)", (seed) => {
  const { next } = dice(seed)
  const word = () => Array.from({ length: next(4) }, () => letters[next(letters.length)]).join("")
  const { database, rows, write } = open()
  const { text, number, note } = ledgers(database)
  for (let round = 0; round < 60; round++) {
    const changes = Array.from({ length: next(12) }, () => {
      const id = next(60)
      return write(id, next(3) === 0 ? undefined : { id, raw: word(), rank: next(8) })
    })
    note(changes.flat())
    compare([...rows.values()], text, number)
    if (next(9) === 0) text.forget()
  }
  expect(rows.size).toBeGreaterThan(20)
})

test("texts with a separator in them are the table's to look through", () => {
  const { database, write } = open()
  const { text, note } = ledgers(database)
  const asked = { as: "key", how: "contains", value: "a", few: 4 } as const
  expect(text.held(asked)).toEqual({ rows: 0, texts: [] })
  note(write(1, { id: 1, raw: "a\u0001a", rank: 1 }))
  expect(text.held(asked)).toBeUndefined()
  note(write(1, { id: 1, raw: "a", rank: 1 }))
  expect(text.held(asked)).toEqual({ rows: 1, texts: ["a"] })
  expect(text.held({ ...asked, value: "\u0001" })).toBeUndefined()
  expect(text.rows()).toBe(1)
})
