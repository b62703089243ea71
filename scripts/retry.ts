// Reruns failed tests once, to distinguish flaky tests from broken ones.
import type { Group } from "../vitest.config.ts"
import { failedFiles, mergeRerun } from "./tally.ts"
import type { GroupRun } from "./vitest.ts"

/** The check fails with more flaky tests than this, across all groups. */
export const maxFlaky = 2

export type RetryResult = {
  readonly runs: readonly GroupRun[]
  /** Tests that failed first and passed in the second run. */
  readonly flaky: readonly string[]
}

type RunFile = (group: Group, files: readonly string[]) => Promise<GroupRun>

/**
 * Reruns the failed files one at a time. Skips the rerun if so many failed that the check fails
 * anyway.
 */
export async function retryFailed(
  runs: readonly GroupRun[],
  runFile: RunFile,
): Promise<RetryResult> {
  const failed = runs.flatMap(({ report }) => (report ? failedFiles(report) : []))
  if (failed.length === 0) return { runs, flaky: [] }
  if (failed.length > maxFlaky) {
    console.log(`\n${failed.length} files failed, too many to be flaky: no rerun`)
    return { runs, flaky: [] }
  }
  const combined: RetryResult[] = []
  for (const run of runs) combined.push(await rerunFailed(run, runFile))
  return {
    runs: combined.flatMap((each) => each.runs),
    flaky: combined.flatMap(({ flaky }) => flaky),
  }
}

async function rerunFailed(first: GroupRun, runFile: RunFile): Promise<RetryResult> {
  const { group, report } = first
  const files = report ? failedFiles(report) : []
  let run = first
  const flaky: string[] = []
  for (const file of files) {
    console.log(`\n${group.name}: rerunning ${file}`)
    const second = await runFile(group, [file])
    if (!run.report || !second.report) continue
    const merged = mergeRerun(run.report, second.report)
    flaky.push(...merged.flaky)
    run = { group, ok: second.ok && failedFiles(merged.report).length === 0, report: merged.report }
  }
  return { runs: [run], flaky }
}
