import { expect, test } from "vitest"
import { asciiEmail, foldEmail, foldedForms } from "../../src/protocol/email.ts"

test.each([
  ["max@müller.test", "max@xn--mller-kva.test"],
  ["Max@MÜLLER.test", "max@XN--MLLER-KVA.TEST"],
  // A combining mark.
  ["max@mu\u0308ller.test", "max@müller.test"],
  ["max@straße.test", "max@xn--strae-oqa.test"],
  ["max@почта.рф", "max@xn--80a1acny.xn--p1ai"],
  ["max@mail.bücher.test", "max@mail.xn--bcher-kva.test"],
])("%s and %s are one address", (one, other) => {
  expect(foldEmail(one)).toBe(foldEmail(other))
  expect(foldEmail(foldEmail(other))).toBe(foldEmail(other))
  expect(asciiEmail(foldEmail(one))).toBe(asciiEmail(foldEmail(other)))
})

test.each([
  ["max@strasse.test", "max@straße.test"],
  ["max@muller.test", "max@müller.test"],
  // The local part belongs to the domain's own server.
  ["xn--mx-uia@example.com", "mäx@example.com"],
])("%s and %s are two", (one, other) => {
  expect(foldEmail(one)).not.toBe(foldEmail(other))
})

test.each(["max", "max@", "@", "", "a@b@c", "max@xn--", "max@xn--a.test", "max@ü%2fb", "max@ü ü"])(
  "what has no other form stays as it is: %j",
  (text) => {
    expect(foldEmail(text)).toBe(text)
    expect(asciiEmail(text)).toBe(text)
  },
)

test("the forms of earlier versions are those that somebody can have typed", () => {
  const both = ["max@müller.test", "max@xn--mller-kva.test"]
  expect(new Set(foldedForms("Max@Müller.test"))).toEqual(new Set(both))
  expect(new Set(foldedForms("max@xn--mller-kva.test"))).toEqual(new Set(both))
  expect(foldedForms("Max@Example.com")).toEqual(["max@example.com"])
})
