import { expect, test } from "vitest"
import {
  failedFiles,
  formatSummary,
  listFailures,
  listSlowest,
  mergeRerun,
  parseReport,
  tallyOf,
} from "../../scripts/tally.ts"

type Results = Readonly<Record<string, string>>

const file = (name: string, status: string, results: Results = {}) => ({
  name,
  status,
  assertionResults: Object.entries(results).map(([fullName, result]) => ({
    fullName,
    status: result,
  })),
})

test("counts every test of every file by its status", () => {
  const testResults = [
    file("a.test.ts", "failed", { one: "passed", two: "failed", three: "failed" }),
    file("b.test.ts", "passed", { one: "passed", two: "skipped", three: "pending", four: "todo" }),
  ]
  expect(tallyOf({ testResults })).toEqual({ passed: 2, failed: 2, skipped: 3 })
})

test("counts a file that did not load as a failure", () => {
  const notLoaded = file("a.test.ts", "failed")
  expect(tallyOf({ testResults: [notLoaded] })).toEqual({ passed: 0, failed: 1, skipped: 0 })
  const hookFailed = file("a.test.ts", "failed", { one: "passed" })
  expect(tallyOf({ testResults: [hookFailed] }).failed).toBe(1)
})

test("rejects a report in an unknown format", () => {
  expect(() => parseReport({ results: [] })).toThrow()
})

test("the summary lists skipped tests only if there are any", () => {
  expect(formatSummary({ passed: 7, failed: 0, skipped: 0 })).toBe("7 passed, 0 failed")
  expect(formatSummary({ passed: 7, failed: 1, skipped: 2 })).toBe("7 passed, 1 failed, 2 skipped")
})

test("lists the slowest files first", () => {
  const timed = (name: string, ms: number) => ({
    ...file(name, "passed"),
    startTime: 1000,
    endTime: 1000 + ms,
  })
  const testResults = [timed("a", 20), timed("b", 2500), timed("c", 300)]
  expect(listSlowest({ testResults }, 2)).toEqual(["    2.5 s  b", "    0.3 s  c"])
})

const first = {
  testResults: [
    file("a.test.ts", "failed", { steady: "passed", chance: "failed", broken: "failed" }),
    file("b.test.ts", "failed"),
    file("c.test.ts", "passed", { fine: "passed" }),
  ],
}

test("runs the failed files again", () => {
  expect(failedFiles(first)).toEqual(["a.test.ts", "b.test.ts"])
})

test("a test that passes in the second run is flaky, one that fails twice has failed", () => {
  const second = {
    testResults: [
      file("a.test.ts", "failed", { steady: "passed", chance: "passed", broken: "failed" }),
      file("b.test.ts", "passed", { loaded: "passed" }),
    ],
  }
  const { report, flaky } = mergeRerun(first, second)
  expect(flaky).toEqual(["a.test.ts > chance", "b.test.ts"])
  expect(tallyOf(report)).toEqual({ passed: 4, failed: 1, skipped: 0 })
})

test("a test that fails only in the second run has failed", () => {
  const second = { testResults: [file("a.test.ts", "failed", { steady: "failed" })] }
  const { report, flaky } = mergeRerun(first, second)
  expect(flaky).toEqual([])
  expect(tallyOf(report)).toEqual({ passed: 1, failed: 2, skipped: 0 })
})

test("lists failures with the first lines of their messages", () => {
  const long = Array.from({ length: 30 }, (_, at) => `line ${at}`).join("\n")
  const testResults = [
    {
      name: "a.test.ts",
      status: "failed",
      assertionResults: [
        { status: "failed", fullName: "sum", failureMessages: ["AssertionError: 1 is not 2"] },
        { status: "failed", fullName: "long", failureMessages: [long] },
        { status: "passed", fullName: "fine", failureMessages: [] },
      ],
    },
    { ...file("b.test.ts", "failed"), message: "it did not load" },
    file("c.test.ts", "passed", { fine: "passed" }),
  ]
  const [sum, longest, notLoaded, ...rest] = listFailures({ testResults })
  expect(sum).toBe("a.test.ts > sum\n    AssertionError: 1 is not 2")
  expect(longest?.split("\n")).toHaveLength(13)
  expect(notLoaded).toBe("b.test.ts\n    it did not load")
  expect(rest).toEqual([])
  const again = [file("a.test.ts", "passed", { sum: "passed", long: "failed" })]
  expect(mergeRerun({ testResults }, { testResults: again }).flaky).toEqual([sum])
})
