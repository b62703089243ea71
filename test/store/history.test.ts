// The judge of histories, itself judged: it says nothing of what is right, and names what is not.
import { expect, test } from "vitest"
import { complaintsAbout, type Deed } from "../support/history.ts"

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
    ...[write("a", 0, 4), write("b", 1, 5)],
    ...[read("b", 6, 7), read("b", 8, 9)],
  ],
  "the old or the new while it is written": [
    ...[write("a", 0, 1), write("b", 2, 9)],
    ...[read("a", 3, 4), read("b", 5, 6)],
  ],
  "late what nobody had an answer to": [
    ...[write("a", 0, 1), write("b", 2), read("a", 5, 6), read("b", 20, 21)],
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
