// Runs a group of tests and parses vitest's report.
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join, relative } from "node:path"
import type { Group } from "../vitest.config.ts"
import { root, run } from "./step.ts"
import { addTallies, emptyTally, parseReport, type Report, type Tally, tallyOf } from "./tally.ts"

/** vitest's result for a group, or for some of its files. */
export type GroupRun = {
  readonly group: Group
  /** Whether vitest exited without an error. */
  readonly ok: boolean
  /** Undefined if vitest wrote none. */
  readonly report: Report | undefined
}

const oneFailure: Tally = { ...emptyTally, failed: 1 }

/** Counts the tests of a run; an error of vitest itself is one failure. */
export function tallyOfRun({ group, ok, report }: GroupRun): Tally {
  const tally = report ? tallyOf(report) : oneFailure
  if (ok || tally.failed > 0) return tally
  console.log(`FAILED  ${group.name}: vitest failed, though no test did`)
  return addTallies(tally, oneFailure)
}

/**
 * Runs a group; `files` restricts it to paths that contain one of them. vitest runs
 * only under Bun, therefore --bun.
 */
export async function runGroup(group: Group, files: readonly string[]): Promise<GroupRun> {
  const { name, isBeside, workers } = group
  // The process ID keeps two checks of one checkout from mixing their reports.
  const path = join(root, "dist", "test", `${name}-${process.pid}.json`)
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${path}`]
  const options = [...reporters, ...(workers ? [`--maxWorkers=${workers}`] : [])]
  const command = ["bun", "--bun", "vitest", "run", "--project", name, ...files, ...options]
  // The output of parallel runs would be interleaved.
  const result = await run(command, { show: !isBeside })
  if (isBeside) console.log(`\n${result.output}`)
  if (!existsSync(path)) {
    console.log(`FAILED  ${name}: vitest exited without a report`)
    return { group, ok: false, report: undefined }
  }
  const report = parseReport(JSON.parse(readFileSync(path, "utf8")))
  rmSync(path)
  const testResults = report.testResults.map((file) => ({
    ...file,
    name: relative(root, file.name),
  }))
  return { group, ok: result.ok, report: { testResults } }
}
