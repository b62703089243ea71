// The runs in which everything that can fail does: `bun scripts/chaos.ts [ID…]`, such as R-17.
// `--list` prints them. They run against dist/latchkey, one after the other, for up to half an hour
// in all; the result is 1 where something is lost or wrong. Some need root, PostgreSQL or HAProxy.
import { spawn } from "node:child_process"
import { needs, type Prerequisite } from "../test/support/prerequisite.ts"
import { root } from "./step.ts"

type Run = {
  readonly ids: readonly string[]
  readonly what: string
  readonly command: readonly string[]
  readonly needs?: readonly Prerequisite[]
}

const long = (...names: readonly string[]) => ["scripts/reliability/run.ts", ...names]
const tests = (...files: readonly string[]) => [
  "--bun",
  "vitest",
  "run",
  "--project",
  "reliability",
  ...files.map((name) => `test/reliability/${name}.test.ts`),
]

const runs: readonly Run[] = [
  { ids: ["R-01"], what: "kill -9 under load, 100 times", command: long("kill-loop") },
  {
    ids: ["R-02"],
    what: "500 power cuts",
    command: ["scripts/reliability/power-loss.ts"],
    needs: ["gcc"],
  },
  {
    ids: ["R-03", "R-04"],
    what: "a disk that fails, and fails to sync",
    command: tests("disk-trouble"),
    needs: ["gcc", "prlimit"],
  },
  {
    ids: ["R-05"],
    what: "a full disk of the server, and of PostgreSQL",
    command: tests("full-disk", "postgres-disk"),
    needs: ["unshare", "postgres"],
  },
  { ids: ["R-07"], what: "clocks that jump", command: tests("clock-jump"), needs: ["gcc"] },
  { ids: ["R-08"], what: "50 kills during the first start", command: long("bootstrap") },
  { ids: ["R-09"], what: "two processes on one folder", command: tests("ownership") },
  { ids: ["R-10"], what: "a million events replayed", command: long("replay") },
  { ids: ["R-12"], what: "random commands against a model", command: long("model") },
  { ids: ["R-13", "R-14"], what: "30 backups under load, 10 killed", command: long("backup") },
  { ids: ["R-16"], what: "upgrades that are killed", command: tests("upgrade") },
  {
    ids: ["R-17"],
    what: "three nodes: kills, freezes, cuts, restarts and failovers of PostgreSQL",
    command: long("nodes"),
    needs: ["postgres"],
  },
  {
    ids: ["R-17"],
    what: "PostgreSQL that goes back in time, is away, or refuses",
    command: tests("nodes-history", "nodes", "postgres"),
    needs: ["postgres"],
  },
  {
    ids: ["R-17", "R-27"],
    what: "twenty rolling restarts of two nodes",
    command: long("rolling", "rolling-plain"),
    needs: ["postgres", "haproxy"],
  },
  {
    ids: ["R-18", "R-19"],
    what: "kills while mails, target calls and uploads are under way",
    command: tests("mail-kill", "target-kill", "upload-kill"),
  },
  { ids: ["R-27"], what: "a stop under load", command: tests("graceful-stop") },
  { ids: ["R-28"], what: "keys that rotate under load", command: tests("rotation") },
  { ids: ["R-30"], what: "simulated months of retention", command: tests("retention") },
  { ids: ["R-32"], what: "cold starts", command: tests("cold-start", "start") },
]

async function main(args: readonly string[]): Promise<number> {
  const wanted = runs.filter(({ ids }) => args.length === 0 || ids.some((id) => args.includes(id)))
  if (args.includes("--list") || wanted.length === 0) {
    for (const { ids, what } of runs) console.log(`${ids.join(", ").padEnd(12)} ${what}`)
    return args.includes("--list") ? 0 : 2
  }
  const results: string[] = []
  let failures = 0
  for (const { ids, what, command, needs: required = [] } of wanted) {
    const title = `${ids.join(", ").padEnd(12)} ${what}`
    const missing = required.filter((each) => needs(each) === undefined)
    const began = performance.now()
    if (missing.length === 0) console.log(`\n${title}`)
    const code = missing.length > 0 ? 0 : await ended(command)
    if (code !== 0) failures++
    const verdict = missing.length > 0 ? `needs ${missing}` : code === 0 ? "ok" : "FAILED"
    const seconds = ((performance.now() - began) / 1000).toFixed(0)
    results.push(`${verdict.padEnd(8)} ${seconds.padStart(4)} s  ${title}`)
  }
  console.log(`\n${results.join("\n")}`)
  return failures === 0 ? 0 : 1
}

function ended(command: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...command], { cwd: root, stdio: "inherit" })
  return new Promise((done, fail) => {
    child.once("error", fail)
    child.once("exit", (code) => done(code ?? 1))
  })
}

process.exit(await main(process.argv.slice(2)))
