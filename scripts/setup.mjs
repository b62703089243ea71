// The entry point on a machine with only node and npm: installs the packages of the lock file that
// the step needs, makes sure that bun runs, and starts it. Plain node without dependencies.
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
if (!step) stop(`step is required: node scripts/setup.mjs ${Object.keys(steps).join(" | ")}`)
// Tests need four times as many packages as building and running.
const withTests = name === "test"
install()
repairBun()
step(args)

function install() {
  if (isInstalled()) return
  const began = performance.now()
  process.stdout.write(`Installing packages${withTests ? ", including those for tests" : ""} … `)
  // npm sets npm_execpath for the scripts it runs; running it through node needs no shell.
  const npm = process.env.npm_execpath
  const part = withTests ? "--include=dev" : "--omit=dev"
  const ci = ["ci", part, "--no-audit", "--no-fund", "--loglevel=error"]
  const ended = npm
    ? runQuietly(process.execPath, [npm, ...ci], ["ignore", "ignore", "inherit"])
    : runQuietly(windows ? "npm.cmd" : "npm", ci, ["ignore", "ignore", "inherit"])
  if (ended.status !== 0) stop("npm ci failed; fix the error above and run this again")
  console.log(`${((performance.now() - began) / 1000).toFixed(1)} s`)
}

/** npm writes node_modules/.package-lock.json last, so it is newer than the lock file. */
function isInstalled() {
  const installed = join(root, "node_modules", ".package-lock.json")
  const wanted = join(root, "package-lock.json")
  const isNew = existsSync(installed) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs
  return isNew && (!withTests || existsSync(join(root, "node_modules", "vitest")))
}

/** If install scripts are blocked, npm leaves a stub instead of bun that exits with 1. */
function repairBun() {
  if (bunRuns()) return
  runQuietly(process.execPath, [join("node_modules", "bun", "install.js")], "ignore")
  if (!bunRuns()) {
    stop(
      "bun does not run; allow npm to install optional packages, delete node_modules and try " +
        "again",
    )
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

/** Runs the last step in place of this process: forwards signals and exits with its status. */
function handOver(command, args) {
  const child = spawn(command, args, { cwd: root, stdio: "inherit" })
  // A terminal sends SIGINT to the whole process group: the child has already received it, and
  // would treat a second one as "stop immediately".
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"))
  process.on("SIGTERM", () => child.kill("SIGTERM"))
  child.on("error", (error) => stop(`${command} does not start: ${error.message}`))
  child.on("exit", (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
}

function stop(reason) {
  console.error(`latchkey: ${reason}`)
  process.exit(1)
}
