// Runs a group of tests and reads what vitest reports of it.
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join, relative } from "node:path"
import type { Group } from "../vitest.config.ts"
import { root, run } from "./step.ts"
import { add, nothing, parseReport, type Report, type Tally, tallyOf } from "./tally.ts"

/** What vitest said of a group, or of some of its files. */
export type GroupRun = {
  readonly group: Group
  /** Whether vitest ended without an error. */
  readonly ok: boolean
  /** Undefined if vitest wrote none. */
  readonly report: Report | undefined
}

const failure: Tally = { ...nothing, failed: 1 }

/** Counts the tests of a run; an error of vitest itself is one failure. */
export function tallyOfRun({ group, ok, report }: GroupRun): Tally {
  const tally = report ? tallyOf(report) : failure
  if (ok || tally.failed > 0) return tally
  console.log(`FAILED  ${group.name}: vitest failed, though no test did`)
  return add(tally, failure)
}

/**
 * Runs a group; `files` restricts it to those whose path contains one of them. vitest runs only
 * under Bun, hence --bun.
 */
export async function runGroup(group: Group, files: readonly string[]): Promise<GroupRun> {
  const { name, isBeside, workers } = group
  // The process id keeps two checks of one checkout from counting each other's tests.
  const path = join(root, "dist", "test", `${name}-${process.pid}.json`)
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${path}`]
  const options = [...reporters, ...(workers ? [`--maxWorkers=${workers}`] : [])]
  const command = ["bun", "--bun", "vitest", "run", "--project", name, ...files, ...options]
  // Two that print at the same time nobody can read.
  const ended = await run(command, { show: !isBeside })
  if (isBeside) console.log(`\n${ended.output}`)
  if (!existsSync(path)) {
    console.log(`FAILED  ${name}: vitest ended without a report`)
    return { group, ok: false, report: undefined }
  }
  const report = parseReport(JSON.parse(readFileSync(path, "utf8")))
  rmSync(path)
  const testResults = report.testResults.map((file) => ({
    ...file,
    name: relative(root, file.name),
  }))
  return { group, ok: ended.ok, report: { testResults } }
}
