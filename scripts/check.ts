// Runs the whole check: generated code, pages, format, lint, types, the binary, then all tests. The
// last line is "N passed, N failed", from vitest's reports; a failed step counts as one failure.
// `bun run check`, `npm test` and CI run exactly this. With --changed [REV], it only checks what
// the changes since REV can break.
import { needs, type Prerequisite, prerequisites } from "../test/support/prerequisite.ts"
import { type Group, groups } from "../vitest.config.ts"
import { compareWithBaseline } from "./baseline.ts"
import { compileAll } from "./build.ts"
import { changedFiles, testsFor } from "./changed.ts"
import { prepare } from "./gen.ts"
import { maxFlaky, retryFailed } from "./retry.ts"
import { writeSlowest } from "./slowest.ts"
import { run } from "./step.ts"
import {
  addTallies,
  emptyTally,
  formatSummary,
  listFailures,
  listSlowest,
  type Tally,
} from "./tally.ts"
import { type GroupRun, runGroup, tallyOfRun } from "./vitest.ts"

const oneFailure: Tally = { ...emptyTally, failed: 1 }

type Step = { readonly name: string; readonly work: () => Promise<void> }

/** Steps in one list run at the same time; each list needs the results of the previous one. */
const steps: readonly (readonly Step[])[] = [
  [
    { name: "generated code and pages", work: prepare },
    { name: "format and lint", work: commandStep("biome", "check", "--error-on-warnings", ".") },
    { name: "proto lint", work: commandStep("buf", "lint", "proto") },
    { name: "proto compatibility", work: compareWithBaseline },
  ],
  [
    { name: "types", work: commandStep("tsc", "--noEmit", "-p", ".") },
    { name: "binary", work: compileAll },
  ],
]

/** Runs everything, even after a failure; returns the exit code. */
async function check(): Promise<number> {
  let total = emptyTally
  for (const list of steps) {
    for (const tally of await Promise.all(list.map(runStep))) total = addTallies(total, tally)
  }
  const { runs, flaky } = await retryFailed(await testGroups(), runGroup)
  for (const each of runs) total = addTallies(total, tallyOfRun(each))
  // Repeats the failures, because the output of a failed group is far above.
  const failed = runs.flatMap(({ report }) => (report ? listFailures(report) : []))
  if (failed.length > 0) console.log(`\nFailed:\n  ${failed.join("\n  ")}`)
  total = addTallies(total, reportMissing())
  if (total.passed + total.failed === 0) {
    console.log("FAILED  no test ran, so nothing was checked")
    total = oneFailure
  }
  if (flaky.length > 0) {
    console.log(`\nFlaky (failed, then passed when run again):\n  ${flaky.join("\n  ")}`)
  }
  if (flaky.length > maxFlaky) {
    console.log(`FAILED  ${flaky.length} flaky tests, more than ${maxFlaky}`)
    total = addTallies(total, oneFailure)
  }
  writeSlowest(runs)
  return printTotal(total)
}

function printTotal(total: Tally): number {
  console.log(`\n${formatSummary(total)}`)
  return total.failed === 0 ? 0 : 1
}

/** Milliseconds during which --changed starts further tests; it lists the rest. */
const changedBudgetMs = 90_000

/** Number of test files to run before checking the time again. */
const filesPerRun = 24

/**
 * Checks the changes since a revision: types, the format of the changed files, the rules for the
 * source, and the tests that import a changed file, closest first.
 */
async function checkChanged(since: string | undefined): Promise<number> {
  const started = performance.now()
  const changed = await changedFiles(since)
  if (changed.length === 0) {
    console.log("Nothing has changed, so there is nothing to check.")
    return 0
  }
  const { unit, others } = await testsFor(changed)
  console.log(`${changed.length} changed files; ${unit.length} unit test files depend on them.`)
  const formattable = ["biome", "check", "--error-on-warnings", "--no-errors-on-unmatched"]
  const incremental = ["--incremental", "--tsBuildInfoFile", "dist/test/types.tsbuildinfo"]
  const list: Step[] = [
    { name: "format and lint", work: commandStep(...formattable, ...changed) },
    { name: "types", work: commandStep("tsc", "--noEmit", "-p", ".", ...incremental) },
  ]
  let total = await runStep({ name: "generated code and pages", work: prepare })
  for (const tally of await Promise.all(list.map(runStep))) total = addTallies(total, tally)
  const remaining = [...unit]
  while (remaining.length > 0 && performance.now() - started < changedBudgetMs) {
    const files = remaining.splice(0, filesPerRun)
    for (const group of groups.filter(({ name }) => name === "unit")) {
      total = addTallies(total, tallyOfRun(await runGroup(group, files)))
    }
  }
  const notRun = [...remaining, ...others]
  if (notRun.length > 0) {
    console.log(`\nNot run (npm test runs all of it):\n  ${notRun.join("\n  ")}`)
  }
  return printTotal(total)
}

function commandStep(...command: readonly string[]): () => Promise<void> {
  return async () => {
    const result = await run(command)
    if (!result.ok) throw new Error(result.output)
  }
}

async function runStep({ name, work }: Step): Promise<Tally> {
  const started = performance.now()
  try {
    await work()
    console.log(`ok      ${name}  ${formatSeconds(started)}`)
    return emptyTally
  } catch (error) {
    console.log(`FAILED  ${name}  ${formatSeconds(started)}\n${messageOf(error)}`)
    return oneFailure
  }
}

/** Runs each group when the previous one has ended, or next to the groups that follow it. */
async function testGroups(): Promise<readonly GroupRun[]> {
  const runs: Promise<GroupRun>[] = []
  for (const group of groups) {
    if (group.prerequisite && !needs(group.prerequisite)) continue
    const testRun = testGroup(group)
    runs.push(testRun)
    if (!group.isBeside) await testRun
  }
  return Promise.all(runs)
}

async function testGroup(group: Group): Promise<GroupRun> {
  console.log(`\n${group.name}${group.isBeside ? ", in parallel with the next groups" : ""}`)
  const started = performance.now()
  const result = await runGroup(group, group.checked ?? [])
  console.log(`${group.name}: ${formatSeconds(started)}; the slowest files:`)
  if (result.report) console.log(listSlowest(result.report, 8).join("\n"))
  return result
}

/** Lists the missing programs whose tests were skipped. In CI, none may be missing. */
function reportMissing(): Tally {
  const missing = names(prerequisites).filter((name) => !needs(name))
  for (const name of missing) {
    const { why: reason, remedy } = prerequisites[name]
    console.log(`Missing: ${name}, for ${reason}. To install it: ${remedy}`)
  }
  return process.env.CI === "true" ? { ...emptyTally, failed: missing.length } : emptyTally
}

const names = (of: typeof prerequisites): Prerequisite[] =>
  Object.keys(of).filter((name): name is Prerequisite => name in of)

const formatSeconds = (started: number) => `${((performance.now() - started) / 1000).toFixed(1)} s`

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

const [flag, since, ...excess] = process.argv.slice(2)
if (excess.length > 0 || (flag !== undefined && flag !== "--changed")) {
  console.error("usage: npm test [-- --changed [REVISION]]")
  process.exit(2)
}
process.exit(await (flag === undefined ? check() : checkChanged(since)))
