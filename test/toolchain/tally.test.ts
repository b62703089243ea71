import { expect, test } from "vitest"
import {
  failedFiles,
  failures,
  parseReport,
  retried,
  slowest,
  summary,
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

test("every test of every file is counted by its status", () => {
  const testResults = [
    file("a.test.ts", "failed", { one: "passed", two: "failed", three: "failed" }),
    file("b.test.ts", "passed", { one: "passed", two: "skipped", three: "pending", four: "todo" }),
  ]
  expect(tallyOf({ testResults })).toEqual({ passed: 2, failed: 2, skipped: 3 })
})

test("a file that did not load counts as a failure", () => {
  const notLoaded = file("a.test.ts", "failed")
  expect(tallyOf({ testResults: [notLoaded] })).toEqual({ passed: 0, failed: 1, skipped: 0 })
  const hookFailed = file("a.test.ts", "failed", { one: "passed" })
  expect(tallyOf({ testResults: [hookFailed] }).failed).toBe(1)
})

test("a report of an unknown form is refused rather than counted as nothing", () => {
  expect(() => parseReport({ results: [] })).toThrow()
})

test("the summary names skipped tests only when there are some", () => {
  expect(summary({ passed: 7, failed: 0, skipped: 0 })).toBe("7 passed, 0 failed")
  expect(summary({ passed: 7, failed: 1, skipped: 2 })).toBe("7 passed, 1 failed, 2 skipped")
})

test("the slowest files come first", () => {
  const timed = (name: string, ms: number) => ({
    ...file(name, "passed"),
    startTime: 1000,
    endTime: 1000 + ms,
  })
  const testResults = [timed("a", 20), timed("b", 2500), timed("c", 300)]
  expect(slowest({ testResults }, 2)).toEqual(["    2.5 s  b", "    0.3 s  c"])
})

const first = {
  testResults: [
    file("a.test.ts", "failed", { steady: "passed", chance: "failed", broken: "failed" }),
    file("b.test.ts", "failed"),
    file("c.test.ts", "passed", { fine: "passed" }),
  ],
}

test("the files that failed run again", () => {
  expect(failedFiles(first)).toEqual(["a.test.ts", "b.test.ts"])
})

test("what passes in the second run is flaky, what fails again has failed", () => {
  const second = {
    testResults: [
      file("a.test.ts", "failed", { steady: "passed", chance: "passed", broken: "failed" }),
      file("b.test.ts", "passed", { loaded: "passed" }),
    ],
  }
  const { report, flaky } = retried(first, second)
  expect(flaky).toEqual(["a.test.ts > chance", "b.test.ts"])
  expect(tallyOf(report)).toEqual({ passed: 4, failed: 1, skipped: 0 })
})

test("a test that fails only in the second run has failed", () => {
  const second = { testResults: [file("a.test.ts", "failed", { steady: "failed" })] }
  const { report, flaky } = retried(first, second)
  expect(flaky).toEqual([])
  expect(tallyOf(report)).toEqual({ passed: 1, failed: 2, skipped: 0 })
})

test("failures are listed with the first lines of their messages", () => {
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
  const [sum, longest, notLoaded, ...rest] = failures({ testResults })
  expect(sum).toBe("a.test.ts > sum\n    AssertionError: 1 is not 2")
  expect(longest?.split("\n")).toHaveLength(13)
  expect(notLoaded).toBe("b.test.ts\n    it did not load")
  expect(rest).toEqual([])
  const again = [file("a.test.ts", "passed", { sum: "passed", long: "failed" })]
  expect(retried({ testResults }, { testResults: again }).flaky).toEqual([sum])
})
