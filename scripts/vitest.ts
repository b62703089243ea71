// Runs a group of tests and reads what vitest reports of it.
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join, relative } from "node:path"
import type { Group } from "../vitest.config.ts"
import { root, run } from "./step.ts"
import {
  add,
  failedFiles,
  nothing,
  parseReport,
  type Report,
  retried,
  type Tally,
  tallyOf,
} from "./tally.ts"

export type GroupResult = {
  readonly tally: Tally
  /** Tests that failed first and passed in the second run. */
  readonly flaky: readonly string[]
  /** Undefined if vitest wrote none. */
  readonly report: Report | undefined
}

const failure: Tally = { ...nothing, failed: 1 }

/** Runs a group; `files` restricts it to those whose path contains one of them. */
export async function runGroup(group: Group, files: readonly string[]): Promise<GroupResult> {
  const first = await vitest(group, files)
  if (!first.report) return { tally: failure, flaky: [], report: undefined }
  const failed = failedFiles(first.report)
  if (!group.retriesFailedFiles || failed.length === 0) return resultOf(group, first, [])
  console.log(`\n${group.name}: running ${failed.length} failed file(s) once more`)
  const second = await vitest(group, failed)
  if (!second.report) return resultOf(group, first, [])
  const { report, flaky } = retried(first.report, second.report)
  return resultOf(group, { ok: second.ok, report }, flaky)
}

type Run = { readonly ok: boolean; readonly report: Report | undefined }

function resultOf({ name }: Group, { ok, report }: Run, flaky: readonly string[]): GroupResult {
  const tally = report ? tallyOf(report) : failure
  if (ok || tally.failed > 0) return { tally, flaky, report }
  console.log(`FAILED  ${name}: vitest failed, though no test did`)
  return { tally: add(tally, failure), flaky, report }
}

/** vitest runs only under Bun, hence --bun. */
async function vitest({ name, isBeside }: Group, files: readonly string[]): Promise<Run> {
  // The process id keeps two checks of one checkout from counting each other's tests.
  const path = join(root, "dist", "test", `${name}-${process.pid}.json`)
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${path}`]
  const command = ["bun", "--bun", "vitest", "run", "--project", name, ...files, ...reporters]
  // Two that print at the same time nobody can read.
  const ended = await run(command, { show: !isBeside })
  if (isBeside) console.log(`\n${ended.output}`)
  if (!existsSync(path)) {
    console.log(`FAILED  ${name}: vitest ended without a report`)
    return { ok: false, report: undefined }
  }
  const report = parseReport(JSON.parse(readFileSync(path, "utf8")))
  rmSync(path)
  const testResults = report.testResults.map((file) => ({
    ...file,
    name: relative(root, file.name),
  }))
  return { ok: ended.ok, report: { testResults } }
}
