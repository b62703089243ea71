import { expect, test } from "vitest"
import { typedCodes, typedDigits } from "../../src/kernel/text/typed-code.ts"

test.each(["123456", " 123456 ", "123-456", "123 456", "123\u2013456", "12-34-56", "123\u00a0456"])(
  "%j means 123456",
  (given) => {
    expect(typedCodes(given)).toContain("123456")
    expect(typedDigits(given)).toBe("123456")
  },
)

test("small letters may mean capitals, and a code may have a hyphen of its own", () => {
  expect(typedCodes("k7q-m2p")).toEqual(["k7q-m2p", "K7Q-M2P", "k7qm2p", "K7QM2P"])
})
