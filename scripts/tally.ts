import { z } from "zod"

/** What a run of tests came to. */
export type Tally = { readonly passed: number; readonly failed: number; readonly skipped: number }

export const nothing: Tally = { passed: 0, failed: 0, skipped: 0 }

/** The part of vitest's JSON report that we count. */
const reportShape = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ status: z.string() })),
    }),
  ),
})

/**
 * Counts vitest's JSON report. A file that failed without a failed test (it did not load, or a hook
 * threw) counts as one failure: otherwise the tests it holds would be missed by nobody.
 */
export function tallyOf(report: unknown): Tally {
  return reportShape.parse(report).testResults.reduce((sum, file) => {
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

export const add = (one: Tally, other: Tally): Tally => ({
  passed: one.passed + other.passed,
  failed: one.failed + other.failed,
  skipped: one.skipped + other.skipped,
})

/** The last line of every check. */
export const summary = ({ passed, failed, skipped }: Tally): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`
