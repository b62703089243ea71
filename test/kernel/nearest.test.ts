import { expect, test } from "vitest"
import { findNearest } from "../../src/kernel/text/nearest.ts"

const known = ["loginName", "givenName", "email", "phone", "id", "permissions"]

test.each([
  ["logniName", "loginName"],
  ["loginname", "loginName"],
  ["emial", "email"],
  ["given", "givenName"],
  ["permission", "permissions"],
  ["ids", "id"],
])("%s is a near miss of %s", (word, intended) => {
  expect(findNearest(word, known)).toBe(intended)
})

test.each(["x", "color", "organization", "ph", "zzzzzz", "a".repeat(65)])(
  "%s is not a near miss of anything",
  (word) => {
    expect(findNearest(word, known)).toBeUndefined()
  },
)
