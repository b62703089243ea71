import { expect, test } from "vitest"
import { retryFailed } from "../../scripts/retry.ts"
import type { Report } from "../../scripts/tally.ts"
import { type GroupRun, tallyOfRun } from "../../scripts/vitest.ts"
import { type Group, groups } from "../../vitest.config.ts"

type Results = Readonly<Record<string, "passed" | "failed">>

const groupOf = (name: string): Group => {
  const found = groups.find((group) => group.name === name)
  if (!found) throw new Error(`there is no group ${name}`)
  return found
}

const fileOf = (name: string, results: Results): Report["testResults"][number] => ({
  name,
  status: Object.values(results).includes("failed") ? "failed" : "passed",
  assertionResults: Object.entries(results).map(([fullName, status]) => ({ fullName, status })),
})

const runOf = (group: string, files: Readonly<Record<string, Results>>): GroupRun => {
  const testResults = Object.entries(files).map(([name, results]) => fileOf(name, results))
  const ok = testResults.every(({ status }) => status === "passed")
  return { group: groupOf(group), ok, report: { testResults } }
}

/**
 * The results of second runs by file; records the runs, and whether another one was in progress.
 */
function createSecondRuns(files: Readonly<Record<string, Results>>) {
  const ran: string[] = []
  let underWay = 0
  const runFile = async (group: Group, [file = ""]: readonly string[]): Promise<GroupRun> => {
    underWay++
    await Promise.resolve()
    ran.push(`${group.name} ${file}${underWay > 1 ? ", not alone" : ""}`)
    underWay--
    return runOf(group.name, { [file]: files[file] ?? {} })
  }
  return { ran, runFile }
}

const tallies = (runs: readonly GroupRun[]) =>
  runs.map(tallyOfRun).map(({ passed, failed }) => [passed, failed])

test("failed files run a second time, each alone, and are flaky if they pass", async () => {
  const { ran, runFile } = createSecondRuns({
    "r.test.ts": { restored: "passed", steady: "passed" },
    "a.test.ts": { mailed: "passed" },
  })
  const first = [
    runOf("reliability", {
      "r.test.ts": { restored: "failed", steady: "passed" },
      "q.test.ts": { quiet: "passed" },
    }),
    runOf("acceptance", { "a.test.ts": { mailed: "failed" } }),
    runOf("e2e", { "e.test.ts": { shown: "passed" } }),
  ]
  const { runs, flaky } = await retryFailed(first, runFile)
  expect(ran).toEqual(["reliability r.test.ts", "acceptance a.test.ts"])
  expect(flaky).toEqual(["r.test.ts > restored", "a.test.ts > mailed"])
  expect(tallies(runs)).toEqual([
    [3, 0],
    [1, 0],
    [1, 0],
  ])
})

test("tests that fail twice have failed", async () => {
  const { runFile } = createSecondRuns({ "e.test.ts": { shown: "failed", other: "passed" } })
  const first = [runOf("e2e", { "e.test.ts": { shown: "failed", other: "failed" } })]
  const { runs, flaky } = await retryFailed(first, runFile)
  expect(flaky).toEqual(["e.test.ts > other"])
  expect(tallies(runs)).toEqual([[1, 1]])
})

test("with more failed files than the flaky limit, nothing runs again", async () => {
  const { ran, runFile } = createSecondRuns({})
  const files = { "a.test.ts": { one: "failed" }, "b.test.ts": { two: "failed" } } as const
  const first = [runOf("e2e", files), runOf("reliability", { "c.test.ts": { three: "failed" } })]
  const { runs, flaky } = await retryFailed(first, runFile)
  expect([ran, flaky]).toEqual([[], []])
  expect(tallies(runs)).toEqual([
    [0, 2],
    [0, 1],
  ])
})

test("an error of vitest itself is not hidden by a second run", async () => {
  const { runFile } = createSecondRuns({})
  const broken = { ...runOf("e2e", { "a.test.ts": { one: "passed" } }), ok: false }
  const { runs } = await retryFailed([broken], runFile)
  expect(tallies(runs)).toEqual([[1, 1]])
})
