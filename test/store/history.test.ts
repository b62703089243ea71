// Tests the history checker itself: it accepts correct histories and reports errors.
import { describe, expect, test } from "vitest"
import {
  type Attempt,
  findDoubleWins,
  findHistoryErrors,
  findLostWork,
  type RegisterOperation,
} from "../support/history.ts"

const operation = (
  kind: RegisterOperation["kind"],
  value: string | undefined,
  [begun, ended]: readonly [number, number?],
): RegisterOperation => ({ register: "r", kind, value, started: begun, ended })
const write = (value: string, ...at: readonly [number, number?]) => operation("write", value, at)
const read = (value: string | undefined, ...at: readonly [number, number?]) =>
  operation("read", value, at)

const validHistories: Readonly<Record<string, readonly RegisterOperation[]>> = {
  "nothing, before anything was written": [read(undefined, 0, 1), write("a", 2, 3)],
  "the last": [write("a", 0, 1), write("b", 2, 3), read("b", 4, 5)],
  "either of two that were written at the same time": [
    write("a", 0, 4),
    write("b", 1, 5),
    read("b", 6, 7),
    read("b", 8, 9),
  ],
  "the old or the new while it is written": [
    write("a", 0, 1),
    write("b", 2, 9),
    read("a", 3, 4),
    read("b", 5, 6),
  ],
  "late what nobody had an answer to": [
    write("a", 0, 1),
    write("b", 2),
    read("a", 5, 6),
    read("b", 20, 21),
  ],
}

test.each(Object.entries(validHistories))("accepts a read of %s", (_, history) => {
  expect(findHistoryErrors(history)).toEqual([])
})

const invalidHistories: Readonly<
  Record<string, { readonly history: readonly RegisterOperation[]; readonly said: RegExp }>
> = {
  "what was never written": {
    history: [write("a", 0, 1), read("x", 2, 3)],
    said: /x was read, and never written/,
  },
  "what comes later": { history: [read("a", 0, 1), write("a", 2, 3)], said: /too early/ },
  "nothing, after it was written": {
    history: [write("a", 0, 1), read(undefined, 2, 3)],
    said: /undefined was read after a had been written/,
  },
  "the old after the new was acknowledged": {
    history: [write("a", 0, 1), write("b", 2, 3), read("a", 4, 5)],
    said: /a was read after b had been written/,
  },
  "the old after somebody has read the new": {
    history: [write("a", 0, 1), write("b", 2, 9), read("b", 3, 4), read("a", 5, 6)],
    said: /a was read after b had been read/,
  },
  "what was lost": {
    history: [write("a", 0, 1), write("b", 2), read("b", 3, 4), read("a", 9, 10)],
    said: /a was read after b had been read/,
  },
}

test.each(Object.entries(invalidHistories))("reports a read of %s", (_, { history, said }) => {
  const complaints = findHistoryErrors(history)
  expect(complaints).toHaveLength(1)
  expect(complaints[0]).toMatch(said)
})

test("keeps registers apart", () => {
  const other = (each: RegisterOperation): RegisterOperation => ({ ...each, register: "other" })
  expect(findHistoryErrors([write("a", 0, 1), other(read(undefined, 2, 3))])).toEqual([])
})

describe("for exclusive claims", () => {
  const tried = (userName: string, outcome: Attempt["outcome"], begun = 0, ended = 1): Attempt => ({
    resource: "code",
    client: userName,
    outcome,
    started: begun,
    ended,
  })
  test("accepts one winner, and none if a claim had no response", () => {
    expect(
      findDoubleWins([tried("a", "won"), tried("b", "refused"), tried("c", undefined)]),
    ).toEqual([])
    expect(findDoubleWins([tried("a", undefined), tried("b", "refused", 2, 3)])).toEqual([])
    expect(
      findDoubleWins([tried("a", "won"), { ...tried("b", "won"), resource: "other" }]),
    ).toEqual([])
  })

  test("reports two winners, and a rejection without a winner", () => {
    expect(findDoubleWins([tried("a", "won"), tried("b", "won")])).toEqual([
      "code was won by a and b",
    ])
    expect(findDoubleWins([tried("a", "refused"), tried("b", "won", 5, 6)])).toEqual([
      "code was refused to a, and nobody had it",
    ])
  })
})

describe("for confirmed writes", () => {
  const promised = (acknowledged: readonly string[], ...matches: readonly string[]) =>
    findLostWork({
      what: "mail",
      requested: new Set(["a", "b"]),
      acknowledged,
      found: matches.map((each) => ({ name: each.slice(0, 1), mark: each })),
    })

  test("accepts existing writes, repeated ones, and unconfirmed ones", () => {
    expect(promised(["a"], "a1", "a1")).toEqual([])
    expect(promised([], "b1")).toEqual([])
  })

  test("reports lost, duplicated, and unrequested writes", () => {
    expect(promised(["a"])).toEqual(["mail a was acknowledged, and is lost"])
    expect(promised(["a"], "a1", "a2")).toEqual(["mail a was done twice"])
    expect(promised([], "x1")).toEqual(["mail x was never asked for"])
  })
})

test("checks a long history quickly", () => {
  const history = Array.from({ length: 40_000 }, (_, at) =>
    at % 4 === 0 ? write(`${at}`, at, at + 1) : read(`${at - (at % 4)}`, at, at + 1),
  ).map((each, at) => (at === 30_001 ? { ...each, value: "8" } : each))
  expect(findHistoryErrors(history)).toEqual(["r: 8 was read after 29996 had been written"])
})
