import { expect, test } from "vitest"
import { listCodeSpellings, withoutSeparators } from "../../src/kernel/text/typed-code.ts"

test.each(["123456", " 123456 ", "123-456", "123 456", "123\u2013456", "12-34-56", "123\u00a0456"])(
  "reads %j as 123456",
  (input) => {
    expect(listCodeSpellings(input)).toContain("123456")
    expect(withoutSeparators(input)).toBe("123456")
  },
)

test("lowercase letters can match capitals, and a code can contain a hyphen", () => {
  expect(listCodeSpellings("k7q-m2p")).toEqual(["k7q-m2p", "K7Q-M2P", "k7qm2p", "K7QM2P"])
})
