// The whole check: generated code, pages, format, lint, types, the binary, then every test.
// Its last line is "N passed, N failed", counted from vitest's own reports; a step that fails
// counts as one failure. `bun run check`, `npm test` and CI run exactly this.
// With --changed [REV] it checks only what the changes since REV can break.
import { needs, type Prerequisite, prerequisites } from "../test/support/prerequisite.ts"
import { type Group, groups } from "../vitest.config.ts"
import { compareWithBaseline } from "./baseline.ts"
import { compileAll } from "./build.ts"
import { changedFiles, testsFor } from "./changed.ts"
import { prepare } from "./gen.ts"
import { flakyMax, retryFailed } from "./retry.ts"
import { writeSlowest } from "./slowest.ts"
import { run } from "./step.ts"
import { add, failures, nothing, slowest, summary, type Tally } from "./tally.ts"
import { type GroupRun, runGroup, tallyOfRun } from "./vitest.ts"

const failure: Tally = { ...nothing, failed: 1 }

type Step = { readonly name: string; readonly work: () => Promise<void> }

/** Steps of one list run at the same time; each list needs what the one before has made. */
const steps: readonly (readonly Step[])[] = [
  [
    { name: "generated code and pages", work: prepare },
    { name: "format and lint", work: tool("biome", "check", "--error-on-warnings", ".") },
    { name: "proto lint", work: tool("buf", "lint", "proto") },
    { name: "proto compatibility", work: compareWithBaseline },
  ],
  [
    { name: "types", work: tool("tsc", "--noEmit", "-p", ".") },
    { name: "binary", work: compileAll },
  ],
]

/** Runs everything, also after a failure; returns the exit code. */
async function check(): Promise<number> {
  let total = nothing
  for (const list of steps) {
    for (const tally of await Promise.all(list.map(runStep))) total = add(total, tally)
  }
  const { runs, flaky } = await retryFailed(await testGroups(), runGroup)
  for (const each of runs) total = add(total, tallyOfRun(each))
  // The output of a group that failed lies thousands of lines above.
  const failed = runs.flatMap(({ report }) => (report ? failures(report) : []))
  if (failed.length > 0) console.log(`\nFailed:\n  ${failed.join("\n  ")}`)
  total = add(total, reportMissing())
  if (total.passed + total.failed === 0) {
    console.log("FAILED  no test ran, so nothing was checked")
    total = failure
  }
  if (flaky.length > 0) {
    console.log(`\nFlaky (failed, then passed when run again):\n  ${flaky.join("\n  ")}`)
  }
  if (flaky.length > flakyMax) {
    console.log(`FAILED  ${flaky.length} tests are flaky, more than ${flakyMax}`)
    total = add(total, failure)
  }
  writeSlowest(runs)
  return end(total)
}

function end(total: Tally): number {
  console.log(`\n${summary(total)}`)
  return total.failed === 0 ? 0 : 1
}

/** How long --changed starts further tests. The rest is listed. */
const changedBudgetMs = 90_000

/** How many files run before the time is looked at again. */
const filesAtOnce = 24

/**
 * Checks what changed since a revision: types, the format of the changed files, the rules for the
 * source, and the tests that import a changed file, the closest first.
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
  const formatted = ["biome", "check", "--error-on-warnings", "--no-errors-on-unmatched"]
  const incremental = ["--incremental", "--tsBuildInfoFile", "dist/test/types.tsbuildinfo"]
  const list: Step[] = [
    { name: "format and lint", work: tool(...formatted, ...changed) },
    { name: "types", work: tool("tsc", "--noEmit", "-p", ".", ...incremental) },
  ]
  let total = await runStep({ name: "generated code and pages", work: prepare })
  for (const tally of await Promise.all(list.map(runStep))) total = add(total, tally)
  const rest = [...unit]
  while (rest.length > 0 && performance.now() - started < changedBudgetMs) {
    const files = rest.splice(0, filesAtOnce)
    for (const group of groups.filter(({ name }) => name === "unit")) {
      total = add(total, tallyOfRun(await runGroup(group, files)))
    }
  }
  const left = [...rest, ...others]
  if (left.length > 0) {
    console.log(`\nNot run (npm test runs all of it):\n  ${left.join("\n  ")}`)
  }
  return end(total)
}

function tool(...command: readonly string[]): () => Promise<void> {
  return async () => {
    const ended = await run(command)
    if (!ended.ok) throw new Error(ended.output)
  }
}

async function runStep({ name, work }: Step): Promise<Tally> {
  const started = performance.now()
  try {
    await work()
    console.log(`ok      ${name}  ${seconds(started)}`)
    return nothing
  } catch (error) {
    console.log(`FAILED  ${name}  ${seconds(started)}\n${messageOf(error)}`)
    return failure
  }
}

/** Runs each group when the one before has ended, or beside those that come after it. */
async function testGroups(): Promise<readonly GroupRun[]> {
  const runs: Promise<GroupRun>[] = []
  for (const group of groups) {
    if (group.prerequisite && !needs(group.prerequisite)) continue
    const testing = testGroup(group)
    runs.push(testing)
    if (!group.isBeside) await testing
  }
  return Promise.all(runs)
}

async function testGroup(group: Group): Promise<GroupRun> {
  console.log(`\n${group.name}${group.isBeside ? ", beside those that follow" : ""}`)
  const started = performance.now()
  const ended = await runGroup(group, group.checked ?? [])
  console.log(`${group.name}: ${seconds(started)}; the slowest files:`)
  if (ended.report) console.log(slowest(ended.report, 8).join("\n"))
  return ended
}

/** Names the programs for lack of which tests were skipped. In CI there must be none. */
function reportMissing(): Tally {
  const missing = names(prerequisites).filter((name) => !needs(name))
  for (const name of missing) {
    const { why, remedy } = prerequisites[name]
    console.log(`Missing: ${name}, for ${why}. To get it: ${remedy}`)
  }
  return process.env.CI === "true" ? { ...nothing, failed: missing.length } : nothing
}

const names = (of: typeof prerequisites): Prerequisite[] =>
  Object.keys(of).filter((name): name is Prerequisite => name in of)

const seconds = (started: number) => `${((performance.now() - started) / 1000).toFixed(1)} s`

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

const [flag, since, ...excess] = process.argv.slice(2)
if (excess.length > 0 || (flag !== undefined && flag !== "--changed")) {
  console.error("usage: npm test [-- --changed [REVISION]]")
  process.exit(2)
}
process.exit(await (flag === undefined ? check() : checkChanged(since)))
