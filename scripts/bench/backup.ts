// Measures a backup of a busy server and its restore: `bun scripts/bench/backup.ts [USERS]
// [FOLDER]`. Prints the duration, the peak memory, and the latency of other requests before and
// during the backup. A FOLDER is kept and reused by the next run. Needs dist/latchkey and Linux,
// for /proc.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { loadavg } from "node:os"
import { join, resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import {
  binary,
  freePort,
  type ServiceKey,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import type { Latencies, LatencyWorkerInput } from "./latency-worker.ts"
import { populate } from "./population.ts"

const [userCount = "1000000", keptFolder] = process.argv.slice(2)
const folder =
  keptFolder === undefined ? temporaryFolder() : { path: resolve(keptFolder), remove: () => {} }
const pathOf = (name: string) => join(folder.path, name)
const data = pathOf("data")
const idleMs = 15_000

type ServerAccess = { readonly port: number; readonly key: ServiceKey }
const urlOf = (port: number) => `http://localhost:${port}`

async function prepareServer(): Promise<ServerAccess> {
  const file = pathOf("house.json")
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"))
  mkdirSync(folder.path, { recursive: true })
  const port = await freePort()
  const key = await setUp(data, urlOf(port))
  await populate(join(data, "latchkey.db"), Number(userCount), 1000)
  // Flush pending writes first: otherwise they would slow down the measurement.
  await Bun.spawn(["sync"]).exited
  writeFileSync(file, JSON.stringify({ port, key }))
  return { port, key }
}

/** Returns the latencies of other requests while `work` runs. */
async function measureLatencies(
  { port, key }: ServerAccess,
  work: () => Promise<void>,
): Promise<Latencies> {
  const worker = new Worker(new URL("./latency-worker.ts", import.meta.url))
  worker.postMessage({ url: urlOf(port), key } satisfies LatencyWorkerInput)
  const latencies = new Promise<Latencies>((done) => {
    worker.onmessage = ({ data }: MessageEvent<Latencies>) => done(data)
  })
  await work()
  worker.postMessage("end")
  const result = await latencies
  worker.terminate()
  return result
}

const percentile = (times: readonly number[], fraction: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * fraction)] ?? 0
const formatLatencies = (times: readonly number[]): string =>
  [0.5, 0.99, 1].map((fraction) => percentile(times, fraction).toFixed(1)).join(" / ")

/** Runs a command until it exits, and prints its duration, CPU time and peak memory. */
async function runTimed(label: string, args: readonly string[]): Promise<void> {
  const started = performance.now()
  const child = Bun.spawn([binary, ...args], { env: {}, stdout: "pipe", stderr: "inherit" })
  const output = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error(`${args.join(" ")} failed:\n${output}`)
  const seconds = (performance.now() - started) / 1000
  const { maxRSS = 0, cpuTime } = child.resourceUsage() ?? {}
  const cpu = (Number(cpuTime?.total ?? 0) / 1e6).toFixed(1)
  const megabytes = (maxRSS / 1e6).toFixed(0)
  console.log(`${label}: ${seconds.toFixed(1)} s (${cpu} s CPU), peak memory ${megabytes} MB`)
}

const access = await prepareServer()
const server = await startLatchkey({ data, port: access.port })
const peakMemory = () => /VmHWM:\s+(\d+ kB)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
const { pid } = server.process
try {
  console.log(`machine load before: ${loadavg()[0]?.toFixed(2)}`)
  rmSync(pathOf("saved"), { force: true })
  const idle = await measureLatencies(access, () => sleep(idleMs))
  const before = peakMemory()
  const busy = await measureLatencies(access, () =>
    runTimed("backup", ["backup", pathOf("saved"), "--data", data]),
  )
  const bytes = (file: string) => `${(statSync(file).size / 1e6).toFixed(0)} MB`
  console.log(`from ${bytes(join(data, "latchkey.db"))} to ${bytes(pathOf("saved"))}`)
  for (const kind of ["tokens", "probes"] as const) {
    const [idleTimes, busyTimes] = [idle[kind], busy[kind]]
    const difference = (percentile(busyTimes, 0.99) - percentile(idleTimes, 0.99)).toFixed(1)
    const what = kind === "tokens" ? "token request" : "liveness probe"
    console.log(
      `${what}, median / 99th percentile / maximum: ${formatLatencies(idleTimes)} ms before, ` +
        `${formatLatencies(busyTimes)} ms during the backup (difference ${difference} ms)`,
    )
  }
  console.log(`peak memory of the server: ${before} before, ${peakMemory()} after`)
  rmSync(pathOf("restored"), { recursive: true, force: true })
  await runTimed("restore", ["restore", pathOf("saved"), "--data", pathOf("restored")])
  console.log(`machine load after: ${loadavg()[0]?.toFixed(2)}`)
} finally {
  await server.stop()
  rmSync(pathOf("restored"), { recursive: true, force: true })
  folder.remove()
}
