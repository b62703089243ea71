import { expect, test } from "vitest"
import { foldEmail, listFoldedForms, toAsciiEmail } from "../../src/protocol/email.ts"

test.each([
  ["max@müller.test", "max@xn--mller-kva.test"],
  ["Max@MÜLLER.test", "max@XN--MLLER-KVA.TEST"],
  // A combining mark.
  ["max@mu\u0308ller.test", "max@müller.test"],
  ["max@straße.test", "max@xn--strae-oqa.test"],
  ["max@почта.рф", "max@xn--80a1acny.xn--p1ai"],
  ["max@mail.bücher.test", "max@mail.xn--bcher-kva.test"],
])("%s and %s are the same address", (one, other) => {
  expect(foldEmail(one)).toBe(foldEmail(other))
  expect(foldEmail(foldEmail(other))).toBe(foldEmail(other))
  expect(toAsciiEmail(foldEmail(one))).toBe(toAsciiEmail(foldEmail(other)))
})

test.each([
  ["max@strasse.test", "max@straße.test"],
  ["max@muller.test", "max@müller.test"],
  // The local part belongs to the mail server of the domain.
  ["xn--mx-uia@example.com", "mäx@example.com"],
])("%s and %s are different", (one, other) => {
  expect(foldEmail(one)).not.toBe(foldEmail(other))
})

test.each(["max", "max@", "@", "", "a@b@c", "max@xn--", "max@xn--a.test", "max@ü%2fb", "max@ü ü"])(
  "an address without another form is unchanged: %j",
  (text) => {
    expect(foldEmail(text)).toBe(text)
    expect(toAsciiEmail(text)).toBe(text)
  },
)

test("the legacy forms are those that a user can have typed", () => {
  const both = ["max@müller.test", "max@xn--mller-kva.test"]
  expect(new Set(listFoldedForms("Max@Müller.test"))).toEqual(new Set(both))
  expect(new Set(listFoldedForms("max@xn--mller-kva.test"))).toEqual(new Set(both))
  expect(listFoldedForms("Max@Example.com")).toEqual(["max@example.com"])
})
