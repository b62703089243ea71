import { describe, expect, test, vi } from "vitest"
import { givenName } from "../../src/kernel/text/given.ts"
import {
  canonical,
  fold,
  foldExceptSigma,
  foldName,
  sigmaForms,
} from "../../src/kernel/text/name.ts"
import { loginNameOf } from "../../src/protocol/user-field.ts"

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

test("accents alone are not nothing", () => {
  expect(foldName("\u0301")).toBe("\u0301")
  expect(foldName("")).toBe("")
})

test("each character of ASCII is folded as Unicode folds it", () => {
  for (let code = 0; code < 128; code++) {
    const letter = String.fromCodePoint(code)
    const small = letter.normalize("NFKC").toLowerCase()
    // Beside one that is none of them, all go the long way.
    for (const form of [fold, foldName]) {
      expect(form(`${letter}b`)).toBe(`${small}b`)
      expect(form(`${letter}ы`)).toBe(`${small}ы`)
    }
  }
})

/** Marks are sorted at a cost of the square of their number on one letter. */
describe.each(Object.entries({ fold, foldName, canonical, givenName, loginNameOf }))(
  "%s sorts few marks at once",
  (_, read) => {
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
        // That it is refused is as good.
      }
      const texts = normalize.mock.contexts.map(String)
      normalize.mockRestore()
      const runs = texts.flatMap((text) => text.match(/[\p{M}\uff9e\uff9f]+/gu) ?? [])
      const most = runs.flatMap((run) => run.split("\u034f")).map(({ length }) => length)
      expect(Math.max(0, ...most)).toBeLessThanOrEqual(30)
    })
  },
)

/** Capitals have one sigma, small letters two: the second stands at the end of a word. */
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
