// Runs what failed once more, to tell what failed by chance from what is broken.
import type { Group } from "../vitest.config.ts"
import { failedFiles, retried } from "./tally.ts"
import type { GroupRun } from "./vitest.ts"

/** More flaky tests than this fail the check, whatever group they are in. */
export const flakyMax = 2

export type Retried = {
  readonly runs: readonly GroupRun[]
  /** Tests that failed first and passed in the second run. */
  readonly flaky: readonly string[]
}

type RunFile = (group: Group, files: readonly string[]) => Promise<GroupRun>

/**
 * Runs the files that failed once more, one at a time. Where so many failed that the check fails
 * whatever comes of it, nothing is run again.
 */
export async function retryFailed(runs: readonly GroupRun[], runFile: RunFile): Promise<Retried> {
  const failed = runs.flatMap(({ report }) => (report ? failedFiles(report) : []))
  if (failed.length === 0) return { runs, flaky: [] }
  if (failed.length > flakyMax) {
    console.log(`\n${failed.length} files failed, too many to have failed by chance: no second run`)
    return { runs, flaky: [] }
  }
  const joined: Retried[] = []
  for (const run of runs) joined.push(await retriedRun(run, runFile))
  return {
    runs: joined.flatMap((each) => each.runs),
    flaky: joined.flatMap(({ flaky }) => flaky),
  }
}

async function retriedRun(first: GroupRun, runFile: RunFile): Promise<Retried> {
  const { group, report } = first
  const files = report ? failedFiles(report) : []
  let run = first
  const flaky: string[] = []
  for (const file of files) {
    console.log(`\n${group.name}: running ${file} once more`)
    const second = await runFile(group, [file])
    if (!run.report || !second.report) continue
    const both = retried(run.report, second.report)
    flaky.push(...both.flaky)
    run = { group, ok: second.ok && failedFiles(both.report).length === 0, report: both.report }
  }
  return { runs: [run], flaky }
}
