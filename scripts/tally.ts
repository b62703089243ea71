import { z } from "zod"

/** The number of tests by result. */
export type Tally = { readonly passed: number; readonly failed: number; readonly skipped: number }

export const nothing: Tally = { passed: 0, failed: 0, skipped: 0 }

/** The part of vitest's JSON report that we read. */
const reportShape = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      startTime: z.number().optional(),
      endTime: z.number().optional(),
      assertionResults: z.array(z.object({ status: z.string(), fullName: z.string() })),
    }),
  ),
})

export type Report = z.infer<typeof reportShape>

export const parseReport = (json: unknown): Report => reportShape.parse(json)

/**
 * Counts vitest's JSON report. A file that failed without a failed test (it did not load, or a hook
 * threw) counts as one failure: otherwise nobody would miss the tests in it.
 */
export function tallyOf(report: Report): Tally {
  return report.testResults.reduce((sum, file) => {
    const count = (...statuses: string[]) =>
      file.assertionResults.filter((test) => statuses.includes(test.status)).length
    const failed = count("failed")
    return add(sum, {
      passed: count("passed"),
      failed: failed === 0 && file.status === "failed" ? 1 : failed,
      skipped: count("skipped", "pending", "todo"),
    })
  }, nothing)
}

/** The paths of the files that have to run again. */
export const failedFiles = (report: Report): string[] =>
  report.testResults.filter(({ status }) => status === "failed").map(({ name }) => name)

/**
 * Joins a report with that of a second run of its failed files. The second run counts for those
 * files. `flaky` names what failed in the first run and passed in the second: `file > test`, or the
 * file alone if it had failed as a whole.
 */
export function retried(
  first: Report,
  second: Report,
): { readonly report: Report; readonly flaky: readonly string[] } {
  const again = new Map(second.testResults.map((file) => [file.name, file]))
  const flaky = first.testResults.flatMap((file) => {
    const next = again.get(file.name)
    if (file.status !== "failed" || !next) return []
    const failed = namesBy(file, "failed")
    if (failed.length === 0) return next.status === "failed" ? [] : [file.name]
    const passed = new Set(namesBy(next, "passed"))
    return failed.filter((name) => passed.has(name)).map((name) => `${file.name} > ${name}`)
  })
  const testResults = first.testResults.map((file) => again.get(file.name) ?? file)
  return { report: { testResults }, flaky }
}

const namesBy = (file: Report["testResults"][number], status: string) =>
  file.assertionResults.filter((test) => test.status === status).map(({ fullName }) => fullName)

/** The slowest files, as "12.3 s  path", the slowest first. */
export const slowest = (report: Report, count: number): string[] =>
  report.testResults
    .map(({ name, startTime = 0, endTime = 0 }) => ({ name, ms: endTime - startTime }))
    .sort((one, other) => other.ms - one.ms)
    .slice(0, count)
    .map(({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`)

export const add = (one: Tally, other: Tally): Tally => ({
  passed: one.passed + other.passed,
  failed: one.failed + other.failed,
  skipped: one.skipped + other.skipped,
})

/** The last line of every check. */
export const summary = ({ passed, failed, skipped }: Tally): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`
