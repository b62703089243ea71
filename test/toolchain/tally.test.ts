import { expect, test } from "vitest"
import { summary, tallyOf } from "../../scripts/tally.ts"

const file = (status: string, ...tests: string[]) => ({
  name: "some.test.ts",
  status,
  assertionResults: tests.map((each) => ({ status: each })),
})

test("every test of every file is counted by its status", () => {
  const report = {
    testResults: [
      file("failed", "passed", "failed", "failed"),
      file("passed", "passed", "skipped", "pending", "todo"),
    ],
  }
  expect(tallyOf(report)).toEqual({ passed: 2, failed: 2, skipped: 3 })
})

test("a file that did not load counts as a failure", () => {
  expect(tallyOf({ testResults: [file("failed")] })).toEqual({ passed: 0, failed: 1, skipped: 0 })
  expect(tallyOf({ testResults: [file("failed", "passed")] }).failed).toBe(1)
})

test("a report of an unknown form is refused rather than counted as nothing", () => {
  expect(() => tallyOf({ results: [] })).toThrow()
})

test("the summary names skipped tests only when there are some", () => {
  expect(summary({ passed: 7, failed: 0, skipped: 0 })).toBe("7 passed, 0 failed")
  expect(summary({ passed: 7, failed: 1, skipped: 2 })).toBe("7 passed, 1 failed, 2 skipped")
})
