// The way in on a machine with nothing but node and npm: installs what the lockfile lists for the
// step, makes sure that bun runs, and hands over to it. Plain node, no dependencies.
import { spawn, spawnSync } from "node:child_process"
import { existsSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const windows = process.platform === "win32"
const bun = join(root, "node_modules", "bun", "bin", "bun.exe")
const binary = join(root, "dist", windows ? "latchkey.exe" : "latchkey")

const steps = {
  start: (args) => {
    run(bun, ["scripts/build.ts", "--if-stale"])
    handOver(binary, ["serve", ...args])
  },
  test: (args) => handOver(bun, ["scripts/check.ts", ...args]),
  build: (args) => handOver(bun, ["scripts/build.ts", ...args]),
}

const [name, ...args] = process.argv.slice(2)
const step = Object.hasOwn(steps, name ?? "") ? steps[name] : undefined
if (!step) stop(`say what to do: node scripts/setup.mjs ${Object.keys(steps).join(" | ")}`)
// Tests need four times as much as what builds and runs.
const withTests = name === "test"
install()
repairBun()
step(args)

function install() {
  if (isInstalled()) return
  const began = performance.now()
  process.stdout.write(`Installing packages${withTests ? ", also for the tests" : ""} … `)
  // npm sets npm_execpath for scripts that it runs; calling it through node needs no shell.
  const npm = process.env.npm_execpath
  const part = withTests ? "--include=dev" : "--omit=dev"
  const ci = ["ci", part, "--no-audit", "--no-fund", "--loglevel=error"]
  const ended = npm
    ? runQuietly(process.execPath, [npm, ...ci], ["ignore", "ignore", "inherit"])
    : runQuietly(windows ? "npm.cmd" : "npm", ci, ["ignore", "ignore", "inherit"])
  if (ended.status !== 0) stop("npm ci failed; see above, mend it and run this again")
  console.log(`${((performance.now() - began) / 1000).toFixed(1)} s`)
}

/** npm writes node_modules/.package-lock.json last, so it is newer than what it installed from. */
function isInstalled() {
  const installed = join(root, "node_modules", ".package-lock.json")
  const wanted = join(root, "package-lock.json")
  const isNew = existsSync(installed) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs
  return isNew && (!withTests || existsSync(join(root, "node_modules", "vitest")))
}

/** Where install scripts are blocked, npm leaves a stub in place of bun that exits with 1. */
function repairBun() {
  if (bunRuns()) return
  runQuietly(process.execPath, [join("node_modules", "bun", "install.js")], "ignore")
  if (!bunRuns()) {
    stop("bun does not run; allow npm to fetch optional packages, delete node_modules, try again")
  }
}

function bunRuns() {
  return existsSync(bun) && runQuietly(bun, ["--version"], "ignore").status === 0
}

function runQuietly(command, args, stdio) {
  return spawnSync(command, args, { cwd: root, stdio, shell: command.endsWith(".cmd") })
}

/** Runs a step that must succeed before the next one. */
function run(command, args) {
  const ended = runQuietly(command, args, "inherit")
  if (ended.status !== 0) process.exit(ended.status ?? 1)
}

/** Becomes the last step as far as node can: passes on signals and ends as the step ended. */
function handOver(command, args) {
  const child = spawn(command, args, { cwd: root, stdio: "inherit" })
  // A terminal sends SIGINT to the whole group: the child has it already, and would take a second
  // one as "stop at once".
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"))
  process.on("SIGTERM", () => child.kill("SIGTERM"))
  child.on("error", (error) => stop(`${command} does not start: ${error.message}`))
  child.on("exit", (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
}

function stop(why) {
  console.error(`latchkey: ${why}`)
  process.exit(1)
}
