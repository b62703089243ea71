import { expect, test } from "vitest"
import { fold, foldName } from "../../src/kernel/name.ts"

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
