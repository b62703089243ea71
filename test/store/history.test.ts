// The judge of histories, itself judged: it says nothing of what is right, and names what is not.
import { describe, expect, test } from "vitest"
import {
  brokenPromises,
  complaintsAbout,
  type Deed,
  type Try,
  wonTwice,
} from "../support/history.ts"

const deed = (
  kind: Deed["kind"],
  value: string | undefined,
  [begun, ended]: readonly [number, number?],
): Deed => ({ register: "r", kind, value, begun, ended })
const write = (value: string, ...at: readonly [number, number?]) => deed("write", value, at)
const read = (value: string | undefined, ...at: readonly [number, number?]) =>
  deed("read", value, at)

const right: Readonly<Record<string, readonly Deed[]>> = {
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

test.each(Object.entries(right))("lets pass who reads %s", (_, history) => {
  expect(complaintsAbout(history)).toEqual([])
})

const wrong: Readonly<
  Record<string, { readonly history: readonly Deed[]; readonly said: RegExp }>
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

test.each(Object.entries(wrong))("names who reads %s", (_, { history, said }) => {
  const complaints = complaintsAbout(history)
  expect(complaints).toHaveLength(1)
  expect(complaints[0]).toMatch(said)
})

test("keeps registers apart", () => {
  const other = (each: Deed): Deed => ({ ...each, register: "other" })
  expect(complaintsAbout([write("a", 0, 1), other(read(undefined, 2, 3))])).toEqual([])
})

describe("of what only one may win", () => {
  const tried = (who: string, outcome: Try["outcome"], begun = 0, ended = 1): Try => ({
    thing: "code",
    who,
    outcome,
    begun,
    ended,
  })
  test("lets pass one winner, and none where somebody had no answer", () => {
    expect(wonTwice([tried("a", "won"), tried("b", "refused"), tried("c", undefined)])).toEqual([])
    expect(wonTwice([tried("a", undefined), tried("b", "refused", 2, 3)])).toEqual([])
    expect(wonTwice([tried("a", "won"), { ...tried("b", "won"), thing: "other" }])).toEqual([])
  })

  test("names who won it twice, and who was refused what nobody had", () => {
    expect(wonTwice([tried("a", "won"), tried("b", "won")])).toEqual(["code was won by a and b"])
    expect(wonTwice([tried("a", "refused"), tried("b", "won", 5, 6)])).toEqual([
      "code was refused to a, and nobody had it",
    ])
  })
})

describe("of what was promised", () => {
  const promised = (acknowledged: readonly string[], ...found: readonly string[]) =>
    brokenPromises({
      what: "mail",
      asked: new Set(["a", "b"]),
      acknowledged,
      found: found.map((each) => ({ name: each.slice(0, 1), mark: each })),
    })

  test("lets pass what is there, also the same twice, and what nobody had an answer to", () => {
    expect(promised(["a"], "a1", "a1")).toEqual([])
    expect(promised([], "b1")).toEqual([])
  })

  test("names what is lost, was done twice, or was never asked for", () => {
    expect(promised(["a"])).toEqual(["mail a was acknowledged, and is lost"])
    expect(promised(["a"], "a1", "a2")).toEqual(["mail a was done twice"])
    expect(promised([], "x1")).toEqual(["mail x was never asked for"])
  })
})

test("judges a long history at once", () => {
  const history = Array.from({ length: 40_000 }, (_, at) =>
    at % 4 === 0 ? write(`${at}`, at, at + 1) : read(`${at - (at % 4)}`, at, at + 1),
  ).map((each, at) => (at === 30_001 ? { ...each, value: "8" } : each))
  expect(complaintsAbout(history)).toEqual(["r: 8 was read after 29996 had been written"])
})
