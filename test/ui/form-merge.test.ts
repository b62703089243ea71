import { describe, expect, test } from "vitest"
import {
  addSeen,
  applyEdits,
  dropSaved,
  type Edits,
  markSaved,
  rebaseEdits,
  resolveConflict,
  restoreEdits,
  withChange,
} from "../../ui/console/form/edits.ts"
import { isSame, lineList, merge, mergeLists, wordList } from "../../ui/console/form/merge.ts"

describe("a value changed by two users", () => {
  test.each([
    ["only they", false, true, false, { value: true }],
    ["only I", false, false, true, { value: true }],
    ["both to the same", "a", "b", "b", { value: "b" }],
    ["nobody", "a", "a", "a", { value: "a" }],
    ["both to different values", "a", "b", "c", undefined],
    ["both, one to nothing", "a", "", "c", undefined],
  ])("%s changed it", (...[, base, theirs, mine, merged]) => {
    expect(merge({ base, theirs, mine })).toEqual(merged)
  })

  test("is compared by content, not by object identity", () => {
    const day = { count: "1", unit: "days" }
    const hour = { count: "1", unit: "hours" }
    const two = { count: "2", unit: "days" }
    expect(merge({ base: day, theirs: { ...day }, mine: two })).toEqual({ value: two })
    expect(merge({ base: day, theirs: hour, mine: { ...day } })).toEqual({ value: hour })
    expect(merge({ base: day, theirs: hour, mine: two })).toBeUndefined()
    expect(isSame({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] })).toBe(true)
    expect(isSame(["a"], { 0: "a" })).toBe(false)
    expect(isSame({ a: undefined }, { b: undefined })).toBe(false)
  })

  test("is never merged if it is a text without a list", () => {
    const [base, theirs, mine] = ["one\ntwo", "one\ntwo\nthree", "zero\none\ntwo"]
    expect(merge({ base, theirs, mine })).toBeUndefined()
    expect(merge({ base, theirs, mine }, lineList)).toEqual({ value: "zero\none\ntwo\nthree" })
  })
})

const letters = (text: string) => text.split("").filter((letter) => letter !== " ")
const mergeLetters = (base: string, theirs: string, mine: string) =>
  mergeLists({ base: letters(base), theirs: letters(theirs), mine: letters(mine) })?.join("")

describe("a list changed by two users", () => {
  test.each([
    ["additions of both stay", "ab", "abx", "aby", "abxy"],
    ["each addition stays behind what it followed", "ab", "axb", "yab", "yaxb"],
    ["the same addition is there once", "a", "ax", "xa", "ax"],
    ["removals of both hold", "abc", "bc", "ab", "b"],
    ["the same removal holds", "abc", "ac", "ac", "ac"],
    ["an addition and a removal both hold", "ab", "abx", "b", "bx"],
    ["all of it may go", "ab", "a", "b", ""],
    ["an empty list takes both", "", "x", "y", "xy"],
    ["my order stays beside their addition", "abc", "abcx", "cba", "cxba"],
    ["their order stays beside my addition", "abc", "cba", "abcx", "cxba"],
    ["the same new order is no contradiction", "abc", "cab", "cab", "cab"],
    ["an order that a removal leaves is none", "abc", "ca", "bca", "ca"],
  ])("%s", (...[, base, theirs, mine, wanted]) => {
    expect(mergeLetters(base, theirs, mine)).toBe(wanted)
  })

  test("is in conflict if both have reordered it differently", () => {
    expect(mergeLetters("abc", "bac", "acb")).toBeUndefined()
    expect(mergeLetters("abc", "cba", "bca")).toBeUndefined()
  })

  test("is in conflict if both have changed the entry for one item", () => {
    const keyOf = (line: string) => line.split(":")[0] ?? ""
    const of = (theirs: string[], mine: string[]) =>
      mergeLists({ base: ["/a: x", "/b"], theirs, mine }, keyOf)
    expect(of(["/a: y", "/b"], ["/a: z", "/b"])).toBeUndefined()
    expect(of(["/a: y", "/b"], ["/a: x", "/b: z"])).toEqual(["/a: y", "/b: z"])
    expect(of(["/a: x", "/b", "/c: y"], ["/a: x", "/b", "/c: z"])).toBeUndefined()
    expect(of(["/a: x", "/b", "/c: y"], ["/a: x", "/b", "/c: y"])).toHaveLength(3)
  })

  test("keeps additions and removals of both", () => {
    const subsetsOf = (list: string): string[] =>
      list === "" ? [""] : subsetsOf(list.slice(1)).flatMap((one) => [one, `${list[0]}${one}`])
    const base = "abc"
    for (const theirs of subsetsOf("abcxz")) {
      for (const mine of subsetsOf("abcyz")) {
        const result = letters(mergeLetters(base, theirs, mine) ?? "?")
        const wanted = letters("abcxyz").filter((one) =>
          base.includes(one)
            ? theirs.includes(one) && mine.includes(one)
            : theirs.includes(one) || mine.includes(one),
        )
        expect(result.toSorted(), `${theirs} and ${mine}`).toEqual(wanted)
      }
    }
  })

  test("can be parsed from lines or words, and formatted the same way", () => {
    const base = "openid\n\n profile "
    expect(merge({ base, theirs: "openid profile email", mine: "openid" }, wordList)).toEqual({
      value: "openid email",
    })
    const rules = { separator: /\n/, join: "\n" }
    const versions = { base: "/a: x, y", theirs: "/a: x, y\n/b: z w", mine: "/a: x, y\n/c" }
    expect(merge(versions, rules)).toEqual({ value: "/a: x, y\n/b: z w\n/c" })
  })
})

describe("a form with a secret", () => {
  const now = { host: "ours", port: "25", scopes: "a", secret: "" }
  const rules = { scopes: wordList }
  const isGuarded = (name: string) => name === "secret"
  type Values = typeof now
  const typed = (changed: Partial<Values>, edits: Edits<Values> = {}, values = now) =>
    withChange(edits, { now: values, changed, rules, isGuarded })
  const shown = (values: Values, edits: Edits<Values>) => applyEdits(values, edits, rules)
  const theirs = { ...now, host: "theirs", port: "26" }
  const both = [
    { name: "host", theirs: "theirs", mine: "ours" },
    { name: "port", theirs: "26", mine: "25" },
  ] as const

  test("is in conflict with every change since the secret was entered", () => {
    const edits = typed({ secret: "s3cret" })
    expect(shown(now, edits).conflicts).toEqual([])
    expect(shown(theirs, edits).conflicts).toEqual(both)
    expect(shown(theirs, edits).values).toEqual({ ...now, secret: "s3cret" })
    // Also while the user continues typing, and after a failed save.
    const later = typed({ secret: "s3cret!" }, edits, theirs)
    expect(shown(theirs, later).conflicts).toEqual(both)
    expect(shown(theirs, rebaseEdits(later, shown(theirs, later).unsaved)).conflicts).toEqual(both)
  })

  test("is not merged with changes to a list", () => {
    const edits = typed({ secret: "s3cret" }, typed({ scopes: "a mine" }))
    expect(shown({ ...now, scopes: "a theirs" }, edits)).toMatchObject({
      conflicts: [{ name: "scopes", theirs: "a theirs", mine: "a mine" }],
      values: { scopes: "a mine" },
    })
    expect(shown({ ...now, scopes: "a mine" }, edits).conflicts).toEqual([])
  })

  test("follows the server before the secret is entered, and after it is cleared", () => {
    const edits = typed({ port: "27" })
    expect(shown({ ...now, host: "theirs" }, edits)).toMatchObject({
      conflicts: [],
      values: { host: "theirs", port: "27" },
    })
    const late = typed({ secret: "s3cret" }, {}, theirs)
    expect(shown(theirs, late).conflicts).toEqual([])
    const back = typed({ secret: "" }, typed({ secret: "s3cret" }))
    expect(shown(theirs, back)).toMatchObject({ values: theirs, conflicts: [] })
    expect(shown(theirs, typed({ secret: "again" }, back, theirs)).conflicts).toEqual([])
  })

  test("requires one decision for each change", () => {
    const [host, port] = both
    if (!host || !port) throw new Error("there are two")
    const first = resolveConflict(typed({ secret: "s3cret" }), host, "mine")
    expect(shown(theirs, first).conflicts).toEqual([port])
    const second = resolveConflict(first, port, "theirs")
    expect(shown(theirs, second)).toMatchObject({
      conflicts: [],
      values: { ...now, port: "26", secret: "s3cret" },
      unsaved: { host: { base: "theirs", value: "ours" }, secret: { value: "s3cret" } },
    })
    expect(shown({ ...theirs, port: "99" }, second).conflicts).toEqual([
      { name: "port", theirs: "99", mine: "26" },
    ])
    // The user can enter a value of their own instead.
    const own = typed({ host: "third" }, typed({ secret: "s3cret" }), theirs)
    expect(shown(theirs, own).conflicts[0]).toEqual({ ...host, mine: "third" })
  })

  test("has no conflict with values that the user saved while typing", () => {
    const sent = typed({ host: "mine" })
    const edits = markSaved(typed({ secret: "s3cret" }, sent), sent)
    for (const values of [now, { ...now, host: "mine" }]) {
      expect(shown(values, edits)).toMatchObject({ conflicts: [], values: { host: "mine" } })
    }
  })
})

test("a save that failed halfway has no conflict with its stored part", () => {
  const now = { factors: ["app", "key"], forced: false }
  const changed = { factors: ["app", "sms"] }
  const edits = withChange({}, { now, changed, isGuarded: () => true })
  const later = { ...now, factors: ["app", "key", "sms"] }
  expect(applyEdits(later, edits).conflicts).toHaveLength(1)
  const repeated = applyEdits(later, addSeen(edits, { factors: later.factors }))
  expect(repeated).toMatchObject({ conflicts: [], values: changed, unsaved: { factors: {} } })
  // A later addition by another user is not part of it.
  const theirs = { ...later, factors: [...later.factors, "mail"] }
  const seen = addSeen(edits, { factors: later.factors })
  expect(applyEdits(theirs, seen).conflicts.map(({ name }) => name)).toEqual(["factors"])
})

describe("the changes of a form", () => {
  const now = { name: "A", on: false, uris: "u1" }
  type Values = typeof now
  const typed = (changed: Partial<Values>, edits: Edits<Values> = {}, values = now) =>
    withChange(edits, { now: values, changed, rules: { uris: lineList } })
  const shown = (values: Values, edits: Edits<Values>) =>
    applyEdits(values, edits, { uris: lineList })

  test("contain the touched fields only; the others follow the server", () => {
    const edits = typed({ name: "B" })
    expect(edits).toEqual({ name: { base: "A", value: "B" } })
    expect(shown({ ...now, on: true }, edits)).toEqual({
      values: { name: "B", on: true, uris: "u1" },
      conflicts: [],
      unsaved: edits,
    })
  })

  test("contain nothing that was typed back, or that another user changed alike", () => {
    expect(shown(now, typed({ name: "A" }, typed({ name: "B" }))).unsaved).toEqual({})
    const done = shown({ ...now, name: "B" }, typed({ name: "B" }))
    expect(done).toMatchObject({ conflicts: [], unsaved: {} })
  })

  test("conflict with another value of the same field, until one is selected", () => {
    const later = { ...now, name: "C" }
    const edits = typed({ name: "B" })
    const { conflicts, values } = shown(later, edits)
    expect(conflicts).toEqual([{ name: "name", theirs: "C", mine: "B" }])
    expect(values.name).toBe("B")
    const [conflict] = conflicts
    if (!conflict) throw new Error("there is no conflict")
    const mine = shown(later, resolveConflict(edits, conflict, "mine"))
    expect(mine).toMatchObject({ conflicts: [], values: { name: "B" }, unsaved: { name: {} } })
    const theirs = shown(later, resolveConflict(edits, conflict, "theirs"))
    expect(theirs).toMatchObject({ conflicts: [], values: { name: "C" }, unsaved: {} })
    // A third change is a conflict again.
    const third = shown({ ...now, name: "D" }, resolveConflict(edits, conflict, "mine"))
    expect(third.conflicts).toEqual([{ name: "name", theirs: "D", mine: "B" }])
  })

  test("stay in conflict while the user continues typing, or changes other fields", () => {
    const later = { ...now, name: "C" }
    const edits = typed({ on: true }, typed({ name: "BB" }, typed({ name: "B" }), later), later)
    expect(shown(later, edits).conflicts).toEqual([{ name: "name", theirs: "C", mine: "BB" }])
  })

  test("can remove an entry that another user has just added", () => {
    const later = { ...now, uris: "u1\ntheirs" }
    const edits = typed({ uris: "u1\nmine" })
    const { values } = shown(later, edits)
    expect(values.uris).toBe("u1\ntheirs\nmine")
    const cleared = typed({ uris: "u1\nmine" }, edits, later)
    expect(shown(later, cleared).values.uris).toBe("u1\nmine")
  })

  test("are shown after saving, until the server's value arrives", () => {
    const sent = typed({ name: " B " })
    const saved = markSaved(sent, sent)
    expect(shown(now, saved)).toMatchObject({ values: { name: " B " }, unsaved: {} })
    expect(shown({ ...now, name: "B" }, saved)).toMatchObject({
      values: { name: "B" },
      unsaved: {},
      conflicts: [],
    })
  })

  test("end when the page has reloaded, whatever it then shows", () => {
    const sent = typed({ name: "B" })
    const saved = dropSaved(markSaved(typed({ on: true }, sent), sent))
    expect(saved).toEqual({ on: { base: false, value: true } })
    // Another user has undone it.
    expect(shown(now, saved)).toMatchObject({ values: { name: "A", on: true }, conflicts: [] })
    expect(withChange(saved, { now, changed: { on: false } })).not.toHaveProperty("name")
  })

  test("typed during a save have no conflict with the saved ones", () => {
    const sent = typed({ name: "B" })
    const during = markSaved(typed({ name: "BC" }, sent), sent)
    const after = typed({ name: "BC" }, markSaved(sent, sent))
    for (const edits of [during, after]) {
      expect(shown({ ...now, name: "B" }, edits)).toMatchObject({
        conflicts: [],
        values: { name: "BC" },
        unsaved: { name: { base: "B", value: "BC" } },
      })
      expect(shown({ ...now, name: "X" }, edits).conflicts).toHaveLength(1)
    }
  })

  test("of a draft apply if the form still has the field", () => {
    const fitting = { name: { base: "A", value: "B" } }
    const stored = {
      ...fitting,
      gone: { base: "", value: "x" },
      on: { base: "yes", value: true },
      uris: { base: [], value: [] },
    }
    expect(restoreEdits(now, stored)).toEqual(fitting)
    expect(restoreEdits(now, { gone: stored.gone })).toBeUndefined()
  })
})
