// Fuzzes a parser: bun scripts/fuzz.ts NAME [--minutes 10] [--seed N] Mutates inputs and adds those
// with new behavior to test/fuzz/corpus. Lists the targets without a NAME. Findings are added, too,
// and make the script exit with 1.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { parseArgs } from "node:util"
import { storeInput } from "../test/fuzz/engine/corpus.ts"
import { targets } from "../test/fuzz/targets.ts"
import type { FuzzReport } from "./fuzz-process.ts"
import { root } from "./step.ts"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: String(Math.floor(Date.now() / 1000)) },
  },
})

/** Milliseconds without a report after which an input is considered endless. */
const maxSilenceMs = 30_000

const [name] = positionals
if (name === undefined) console.log(targets.map((target) => target.name).join("\n"))
else if (!targets.some((target) => target.name === name)) {
  console.error(`Unknown target ${name}; run the script without a name to list all targets.`)
  process.exitCode = 2
} else process.exitCode = (await run(name)) === 0 ? 0 : 1

/** Runs a target in a child process; returns the number of findings. */
async function run(target: string): Promise<number> {
  const { minutes, seed } = values
  console.log(`${target}: ${minutes} minutes, seed ${seed}`)
  const folder = mkdtempSync(join(tmpdir(), "latchkey-fuzz-"))
  const currentFile = join(folder, "current")
  // The target is still being opened until the first report.
  let [findings, added, lastReport, isDone] = [0, 0, Number.POSITIVE_INFINITY, false]
  const keepFinding = (input: Uint8Array, reason: string) => {
    findings++
    const path = storeInput(target, input, "finding-")
    console.error(`\nFinding: ${relative(root, path)}\n${reason}`)
  }
  const take = (report: FuzzReport) => {
    lastReport = performance.now()
    if (report.kind === "finding") keepFinding(Buffer.from(report.input, "base64"), report.reason)
    if (report.kind === "new") {
      added++
      storeInput(target, Buffer.from(report.input, "base64"))
    }
    if (report.kind === "done") {
      isDone = true
      const { runs, seconds, outcomes } = report
      const rate = Math.round(runs / seconds)
      console.log(
        `${runs} runs, ${rate} per second; ${outcomes} outcomes, ${added} new files, ` +
          `${findings} findings`,
      )
    }
  }
  const program = join(root, "scripts/fuzz-process.ts")
  const child = Bun.spawn([process.execPath, program, target, minutes, seed, currentFile], {
    stdout: "inherit",
    stderr: "inherit",
    ipc: take,
  })
  let isEndless = false
  const watchdog = setInterval(() => {
    isEndless = performance.now() - lastReport > maxSilenceMs
    if (isEndless) child.kill("SIGKILL")
  }, 1000)
  await child.exited
  clearInterval(watchdog)
  const current = readCurrentInput(currentFile)
  const end = isEndless ? "the run does not terminate" : `the process exited: ${formatExit(child)}`
  if (!isDone && !current) throw new Error(end)
  if (!isDone && current) keepFinding(current, end)
  rmSync(folder, { recursive: true })
  return findings
}

function formatExit({ signalCode, exitCode }: Bun.Subprocess): string {
  return String(signalCode ?? `exit code ${exitCode}`)
}

/** The last input, or undefined if there was none. */
function readCurrentInput(file: string): Uint8Array | undefined {
  if (!existsSync(file)) return undefined
  const bytes = readFileSync(file)
  return bytes.subarray(4, 4 + bytes.readUInt32LE(0))
}
