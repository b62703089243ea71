import { describe, expect, test, vi } from "vitest"
import { parseDisplayName } from "../../src/kernel/text/identifier.ts"
import {
  canonicalName,
  fold,
  foldExceptSigma,
  foldName,
  sigmaForms,
} from "../../src/kernel/text/name.ts"
import { parseLoginName } from "../../src/protocol/user-field.ts"

test.each([
  ["Müller", "muller"],
  ["Mu\u0308ller", "muller"],
  ["STRAẞE", "strasse"],
  ["Ångström", "angstrom"],
  ["Łódź", "lodz"],
  ["Æsir Øre", "aesir ore"],
  ["ΟΔΌΣ Σ", "οδοσ σ"],
  ["İstanbul ı", "istanbul i"],
  ["ﬁ Ⅷ", "fi viii"],
  ["Ёлка й", "елка и"],
  ["がギ 한", "がギ 한"],
  ["กิ", "กิ"],
])("a name is found without its accents: %s", (name, plain) => {
  expect(foldName(name)).toBe(plain)
  expect(foldName(fold(name))).toBe(plain)
  expect(foldName(plain)).toBe(plain)
})

test("accents alone are not an empty name", () => {
  expect(foldName("\u0301")).toBe("\u0301")
  expect(foldName("")).toBe("")
})

test("ASCII characters are folded as Unicode folds them", () => {
  for (let code = 0; code < 128; code++) {
    const letter = String.fromCodePoint(code)
    const small = letter.normalize("NFKC").toLowerCase()
    // One non-ASCII character makes all use the slow path.
    for (const form of [fold, foldName]) {
      expect(form(`${letter}b`)).toBe(`${small}b`)
      expect(form(`${letter}ы`)).toBe(`${small}ы`)
    }
  }
})

/** Sorting combining marks has a quadratic cost in their number on one character. */
describe.each(
  Object.entries({
    fold,
    foldName,
    canonical: canonicalName,
    givenName: parseDisplayName,
    loginNameOf: parseLoginName,
  }),
)("%s sorts only a few combining marks at once", (_, read) => {
  test.each([
    ["of four classes", "\u0301\u0316\u0327\u0323", 1000],
    ["that become marks", "\u0301\uff9e", 2000],
    ["that come apart", "\u0344\u0316", 2000],
    ["parted in part", "\u0301\u0316\u034f", 1300],
    ["without end", "\u0301\u0316", 500_000],
  ])("%s", (_, marks, times) => {
    const normalize = vi.spyOn(String.prototype, "normalize")
    try {
      read(`a${marks.repeat(times)}`, `a${marks.repeat(times)}`)
    } catch {
      // A rejection is equally acceptable.
    }
    const texts = normalize.mock.contexts.map(String)
    normalize.mockRestore()
    const runs = texts.flatMap((text) => text.match(/[\p{M}\uff9e\uff9f]+/gu) ?? [])
    const most = runs.flatMap((run) => run.split("\u034f")).map(({ length }) => length)
    expect(Math.max(0, ...most)).toBeLessThanOrEqual(30)
  })
})

/** Sigma has one capital form and two small ones: the second is used at the end of a word. */
test.each([
  ["ΝΙΚΟΣ", "νικος"],
  ["ΝΙΚΟΣ.ΠΑΠΠΑΣ", "νικος.παππας"],
  ["Σάββας", "σάββασ"],
  ["ϲ", "σ"],
])("%s and %s are one name", (one, other) => {
  expect(fold(one)).toBe(fold(other))
  expect(fold(fold(one))).toBe(fold(one))
  expect(sigmaForms(foldExceptSigma(one))).toContain(foldExceptSigma(other))
  expect(sigmaForms(foldExceptSigma(other))).toContain(foldExceptSigma(one))
  expect(sigmaForms(foldExceptSigma(one))[0]).toBe(fold(other))
})

test.each([
  ["straße", "strasse"],
  ["ırmak", "irmak"],
  ["İrmak", "irmak"],
  ["νίκος", "νικος"],
])("%s and %s are two login names", (one, other) => {
  expect(fold(one)).not.toBe(fold(other))
})

test.each([
  ["STRAẞE", "straße"],
  ["İ", "i\u0307"],
  ["Ǆ", "dž"],
])("%s is folded as %s", (one, other) => {
  expect(fold(one)).toBe(other)
})

test("a name without a sigma has one form", () => {
  expect(sigmaForms("nikos")).toEqual(["nikos"])
  expect(sigmaForms("")).toEqual([""])
})
