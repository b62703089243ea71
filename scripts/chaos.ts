// Runs the reliability tests: `bun scripts/chaos.ts [ID…]`, for example R-17. `--list` prints them.
// They run against dist/latchkey one after the other, for up to half an hour in total; the exit
// code is 1 if data is lost or wrong. Some need root, PostgreSQL or HAProxy.
import { spawn } from "node:child_process"
import { needs, type Prerequisite } from "../test/support/prerequisite.ts"
import { root } from "./step.ts"

type Run = {
  readonly ids: readonly string[]
  readonly what: string
  readonly command: readonly string[]
  readonly needs?: readonly Prerequisite[]
}

const longRun = (...names: readonly string[]) => ["scripts/reliability/run.ts", ...names]
const tests = (...files: readonly string[]) => [
  "--bun",
  "vitest",
  "run",
  "--project",
  "reliability",
  ...files.map((name) => `test/reliability/${name}.test.ts`),
]

const runs: readonly Run[] = [
  { ids: ["R-01"], what: "kill -9 under load, 100 times", command: longRun("kill-loop") },
  {
    ids: ["R-02"],
    what: "500 power cuts",
    command: ["scripts/reliability/power-loss.ts"],
    needs: ["gcc"],
  },
  {
    ids: ["R-03", "R-04"],
    what: "a failing disk, on reads, writes and fsync",
    command: tests("disk-trouble"),
    needs: ["gcc", "prlimit"],
  },
  {
    ids: ["R-05"],
    what: "a full disk, of the server and of PostgreSQL",
    command: tests("full-disk", "postgres-disk"),
    needs: ["unshare", "postgres"],
  },
  { ids: ["R-07"], what: "clock jumps", command: tests("clock-jump"), needs: ["gcc"] },
  { ids: ["R-08"], what: "50 kills during the first start", command: longRun("bootstrap") },
  { ids: ["R-09"], what: "two processes in one data directory", command: tests("ownership") },
  { ids: ["R-10"], what: "a million events replayed", command: longRun("replay") },
  { ids: ["R-12"], what: "random commands against a model", command: longRun("model") },
  { ids: ["R-13", "R-14"], what: "30 backups under load, 10 killed", command: longRun("backup") },
  { ids: ["R-16"], what: "kills during upgrades", command: tests("upgrade") },
  {
    ids: ["R-17"],
    what: "three nodes: kills, freezes, network cuts, restarts and failovers of PostgreSQL",
    command: longRun("nodes"),
    needs: ["postgres"],
  },
  {
    ids: ["R-17"],
    what: "PostgreSQL that loses transactions, is unreachable, or rejects connections",
    command: tests("nodes-history", "nodes", "postgres"),
    needs: ["postgres"],
  },
  {
    ids: ["R-17", "R-27"],
    what: "twenty rolling restarts of two nodes",
    command: longRun("rolling", "rolling-plain"),
    needs: ["postgres", "haproxy"],
  },
  {
    ids: ["R-18", "R-19"],
    what: "kills during mails, target calls and uploads",
    command: tests("mail-kill", "target-kill", "upload-kill"),
  },
  { ids: ["R-27"], what: "a stop under load", command: tests("graceful-stop") },
  { ids: ["R-28"], what: "key rotation under load", command: tests("rotation") },
  { ids: ["R-30"], what: "simulated months of retention", command: tests("retention") },
  { ids: ["R-32"], what: "cold starts", command: tests("cold-start", "start") },
]

async function main(args: readonly string[]): Promise<number> {
  const selected = runs.filter(
    ({ ids }) => args.length === 0 || ids.some((id) => args.includes(id)),
  )
  if (args.includes("--list") || selected.length === 0) {
    for (const { ids, what } of runs) console.log(`${ids.join(", ").padEnd(12)} ${what}`)
    return args.includes("--list") ? 0 : 2
  }
  const results: string[] = []
  let failures = 0
  for (const { ids, what, command, needs: required = [] } of selected) {
    const title = `${ids.join(", ").padEnd(12)} ${what}`
    const missing = required.filter((each) => needs(each) === undefined)
    const startedAt = performance.now()
    if (missing.length === 0) console.log(`\n${title}`)
    const code = missing.length > 0 ? 0 : await exitCodeOf(command)
    if (code !== 0) failures++
    const verdict = missing.length > 0 ? `needs ${missing}` : code === 0 ? "ok" : "FAILED"
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
    results.push(`${verdict.padEnd(8)} ${seconds.padStart(4)} s  ${title}`)
  }
  console.log(`\n${results.join("\n")}`)
  return failures === 0 ? 0 : 1
}

function exitCodeOf(command: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...command], { cwd: root, stdio: "inherit" })
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code) => resolve(code ?? 1))
  })
}

process.exit(await main(process.argv.slice(2)))
