import { z } from "zod"

/** The number of tests by result. */
export type Tally = { readonly passed: number; readonly failed: number; readonly skipped: number }

export const emptyTally: Tally = { passed: 0, failed: 0, skipped: 0 }

/** The part of vitest's JSON report that is used. */
const reportShape = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      startTime: z.number().optional(),
      endTime: z.number().optional(),
      /** Why a file failed as a whole. */
      message: z.string().optional(),
      assertionResults: z.array(
        z.object({
          status: z.string(),
          fullName: z.string(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
})

export type Report = z.infer<typeof reportShape>

export const parseReport = (json: unknown): Report => reportShape.parse(json)

/**
 * Counts the results in vitest's JSON report. A file that failed without a failed test (it did not
 * load, or a hook threw) counts as one failure, because its tests are missing.
 */
export function tallyOf(report: Report): Tally {
  return report.testResults.reduce((sum, file) => {
    const count = (...statuses: string[]) =>
      file.assertionResults.filter((test) => statuses.includes(test.status)).length
    const failed = count("failed")
    return addTallies(sum, {
      passed: count("passed"),
      failed: failed === 0 && file.status === "failed" ? 1 : failed,
      skipped: count("skipped", "pending", "todo"),
    })
  }, emptyTally)
}

/** The paths of the files to rerun. */
export const failedFiles = (report: Report): string[] =>
  report.testResults.filter(({ status }) => status === "failed").map(({ name }) => name)

/** Number of lines of a failure message to repeat at the end of a check. */
const failureLines = 12

/** The failures, as "file > test" with the first lines of the message, or the file alone. */
export const listFailures = (report: Report): string[] => report.testResults.flatMap(failuresOf)

function failuresOf(file: Report["testResults"][number]): string[] {
  const failed = file.assertionResults.filter(({ status }) => status === "failed")
  if (failed.length > 0) {
    return failed.map(({ fullName, failureMessages }) =>
      indent(`${file.name} > ${fullName}`, failureMessages ?? []),
    )
  }
  return file.status === "failed" ? [indent(file.name, [file.message ?? ""])] : []
}

function indent(title: string, messages: readonly string[]): string {
  const lines = messages.flatMap((message) => message.trim().split("\n")).filter(Boolean)
  return [title, ...lines.slice(0, failureLines).map((line) => `    ${line}`)].join("\n")
}

/**
 * Merges a report with that of a rerun of its failed files; the rerun replaces their results.
 * `flaky` lists the tests that passed in the rerun, with the message of the first run.
 */
export function mergeRerun(
  first: Report,
  second: Report,
): { readonly report: Report; readonly flaky: readonly string[] } {
  const again = new Map(second.testResults.map((file) => [file.name, file]))
  const flaky = first.testResults.flatMap((file) => {
    const next = again.get(file.name)
    if (file.status !== "failed" || !next) return []
    if (namesBy(file, "failed").length === 0)
      return next.status === "failed" ? [] : failuresOf(file)
    const passed = new Set(namesBy(next, "passed"))
    const flaky = file.assertionResults.filter(({ fullName }) => passed.has(fullName))
    return failuresOf({ ...file, status: "passed", assertionResults: flaky })
  })
  const testResults = first.testResults.map((file) => again.get(file.name) ?? file)
  return { report: { testResults }, flaky }
}

const namesBy = (file: Report["testResults"][number], status: string) =>
  file.assertionResults.filter((test) => test.status === status).map(({ fullName }) => fullName)

/** The slowest files, as "12.3 s  path", slowest first. */
export const listSlowest = (report: Report, count: number): string[] =>
  report.testResults
    .map(({ name, startTime = 0, endTime = 0 }) => ({ name, ms: endTime - startTime }))
    .sort((one, other) => other.ms - one.ms)
    .slice(0, count)
    .map(({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`)

export const addTallies = (one: Tally, other: Tally): Tally => ({
  passed: one.passed + other.passed,
  failed: one.failed + other.failed,
  skipped: one.skipped + other.skipped,
})

/** The last line of every check. */
export const formatSummary = ({ passed, failed, skipped }: Tally): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`
