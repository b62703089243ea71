// The whole check: generated code, pages, format, lint, types, the binary, then every test.
// Its last line is "N passed, N failed", counted from vitest's own reports; a step that fails
// counts as one failure. `bun run check`, `npm test` and CI run exactly this.
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { needs, type Prerequisite, prerequisites } from "../test/support/prerequisite.ts"
import { type Group, groups } from "../vitest.config.ts"
import { compareWithBaseline } from "./baseline.ts"
import { build } from "./build.ts"
import { prepare } from "./gen.ts"
import { root, run } from "./step.ts"
import { add, nothing, summary, type Tally, tallyOf } from "./tally.ts"

const failure: Tally = { ...nothing, failed: 1 }

type Step = { readonly name: string; readonly work: () => Promise<void> }

const steps: readonly Step[] = [
  { name: "generated code and pages", work: prepare },
  { name: "format and lint", work: tool("biome", "check", "--error-on-warnings", ".") },
  { name: "types", work: tool("tsc", "--noEmit", "-p", ".") },
  { name: "proto lint", work: tool("buf", "lint", "proto") },
  { name: "proto compatibility", work: compareWithBaseline },
  { name: "binary", work: build },
]

/** Runs everything, also past a failure, and answers the exit code. */
async function check(): Promise<number> {
  let total = nothing
  for (const step of steps) total = add(total, await take(step))
  for (const group of groups) total = add(total, await test(group))
  total = add(total, reportMissing())
  if (total.passed + total.failed === 0) {
    console.log("FAILED  no test ran, so nothing was checked")
    total = failure
  }
  console.log(`\n${summary(total)}`)
  return total.failed === 0 ? 0 : 1
}

function tool(...command: readonly string[]): () => Promise<void> {
  return async () => {
    const ended = await run(command)
    if (!ended.ok) throw new Error(ended.output)
  }
}

async function take({ name, work }: Step): Promise<Tally> {
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

/** Runs one group of tests. vitest runs only under Bun, hence --bun. */
async function test({ name: group, prerequisite, checked = [] }: Group): Promise<Tally> {
  if (prerequisite && !needs(prerequisite)) return nothing
  console.log(`\n${group}`)
  // The process id keeps two checks of one checkout from counting each other's tests.
  const report = join(root, "dist", "test", `${group}-${process.pid}.json`)
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`]
  const vitest = ["bun", "--bun", "vitest", "run", "--project", group, ...checked]
  const ended = await run([...vitest, ...reporters], { show: true })
  if (!existsSync(report)) {
    console.log(`FAILED  ${group}: vitest ended without a report`)
    return failure
  }
  const tally = tallyOf(JSON.parse(readFileSync(report, "utf8")))
  rmSync(report)
  if (ended.ok || tally.failed > 0) return tally
  console.log(`FAILED  ${group}: vitest failed, though no test did`)
  return add(tally, failure)
}

/** Names the programs for want of which tests were skipped. In CI there must be none. */
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

process.exit(await check())
