// Prints the main figures of the compiled binary: `bun scripts/bench/run.ts [SECONDS]`. The server
// runs on one core, its clients on the other. Writes only temporary folders.
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { connect } from "../../test/acceptance/service.ts"
import {
  apiScope,
  binary,
  freePort,
  type RunningServer,
  type ServiceKey,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import type { Figures } from "./figure.ts"

const seconds = Number(process.argv[2] ?? 60)
const requiredEvents = 100_000
const [serverCore, otherCore] = ["0", "1"]

const folder = temporaryFolder()
const data = join(folder.path, "data")
const port = await freePort()
const url = `http://127.0.0.1:${port}`

printRow("binary", `${(statSync(binary).size / 1e6).toFixed(1)} MB`, "< 125 MB")
await benchmarkStore()
const key = await setUp(data, url)
await withServer(await startPinned(), (server) => benchmarkCreateUser(server, key))
await withServer(await benchmarkRestart(), (server) => benchmarkReads(server, key))
folder.remove()

/** Runs `work` and stops the server afterwards, even if it fails. */
async function withServer(
  server: RunningServer,
  work: (server: RunningServer) => Promise<void>,
): Promise<void> {
  try {
    await work(server)
  } finally {
    await server.stop()
  }
}

async function benchmarkStore(): Promise<void> {
  const script = join(import.meta.dirname, "bare-store.ts")
  const results = await outputOf([
    "taskset",
    "-c",
    serverCore,
    process.execPath,
    script,
    `${seconds}`,
  ])
  const { stall, walMax, ...figures }: Figures & { stall: number; walMax: number } =
    JSON.parse(results)
  printFigures("bare store, 64 callers", figures, "≥ 15,000/s")
  printRow("  event-loop stall", formatMs(stall), "< 10 ms")
  printRow("  peak WAL size", formatMegabytes(walMax), "bounded")
}

async function startPinned(): Promise<RunningServer> {
  const server = await startLatchkey({ data, port })
  await outputOf(["taskset", "-a", "-c", "-p", serverCore, `${server.process.pid}`])
  return server
}

/** Runs CreateUser until the log has the number of events that the restart benchmark needs. */
async function benchmarkCreateUser(server: RunningServer, service: ServiceKey): Promise<void> {
  const token = await serviceToken(url, service, apiScope)
  const orgs = await connect(url, "ListOrganizations", { request: {}, token })
  const script = join(import.meta.dirname, "generator.ts")
  const org: string = orgs.body.result[0].id
  const generate = (duration: number) =>
    outputOf(["taskset", "-c", otherCore, process.execPath, script, url, token, org, `${duration}`])
  await generate(2)
  let walMax = 0
  const sampling = setInterval(() => {
    walMax = Math.max(walMax, statSync(join(data, "latchkey.db-wal")).size)
  }, 100)
  const before = cpuSeconds(server)
  const figures: Figures & { count: number } = JSON.parse(await generate(seconds))
  const perCore = figures.count / (cpuSeconds(server) - before)
  let count = figures.count
  while (count < requiredEvents) count += Number(JSON.parse(await generate(5)).count)
  clearInterval(sampling)
  printFigures("CreateUser over Connect, 64 callers", figures, "≥ 5,000/s")
  printRow("  per CPU second", `${formatThousands(perCore)}/s`, "")
  printRow("  peak WAL size", formatMegabytes(walMax), "bounded")
  printRow("  memory under load", formatMemory(server), "")
}

/** Restarts with all events; prints the best of five, because other load can slow a start. */
async function benchmarkRestart(): Promise<RunningServer> {
  const times: number[] = []
  for (let round = 0; round < 5; round++) times.push(await measureReadyMs())
  printRow(
    `ready with ${formatThousands(requiredEvents)} events`,
    formatMs(Math.min(...times)),
    "< 100 ms",
  )
  const server = await startPinned()
  await sleep(3000)
  printRow("  memory at rest", formatMemory(server), "< 75 MB")
  return server
}

/** Milliseconds from the start of the process to its first response. */
async function measureReadyMs(): Promise<number> {
  const started = performance.now()
  const listenArgs = ["--listen", `127.0.0.1:${port}`, "--grpc-listen", "127.0.0.1:0"]
  const command = [binary, "serve", "--data", data, ...listenArgs]
  const child = Bun.spawn(command, { env: {}, stdout: "ignore", stderr: "ignore" })
  for (;;) {
    const answer = await fetch(`${url}/healthz`).catch(() => undefined)
    if (answer?.ok) break
    await sleep(1)
  }
  const elapsed = performance.now() - started
  child.kill()
  await child.exited
  return elapsed
}

async function benchmarkReads(server: RunningServer, service: ServiceKey): Promise<void> {
  if (!Bun.which("wrk")) {
    printRow("discovery, keys, userinfo", "not measured", "wrk is missing (apt-get install wrk)")
    return
  }
  const token = await serviceToken(url, service, apiScope)
  for (const [path, aim] of [
    ["/.well-known/openid-configuration", "≥ 80,000/s"],
    ["/oauth/v2/keys", "≥ 80,000/s"],
    ["/oidc/v1/userinfo", "≥ 25,000/s"],
  ] as const) {
    const authorization = ["-H", `Authorization: Bearer ${token}`]
    const duration = `${Math.min(10, seconds)}s`
    const wrk = ["wrk", "-t1", "-c64", `-d${duration}`, ...authorization, `${url}${path}`]
    const before = cpuSeconds(server)
    const results = await outputOf(["taskset", "-c", otherCore, ...wrk])
    const used = cpuSeconds(server) - before
    const failed = /Non-2xx.*/.exec(results)?.[0]
    const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(results)?.[1])
    printRow(`GET ${path}`, failed ?? `${formatThousands(perSecond)}/s`, aim)
    const count = Number(/(\d+) requests in/.exec(results)?.[1])
    printRow("  per CPU second", `${formatThousands(count / used)}/s`, "")
  }
}

async function outputOf(command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], { stdout: "pipe", stderr: "pipe" })
  const [text, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code !== 0) throw new Error(`${command.slice(0, 6).join(" ")} exited with ${code}: ${stderr}`)
  return text
}

function printFigures(label: string, { perSecond, p50, p99, max }: Figures, aim: string): void {
  printRow(label, `${formatThousands(perSecond)}/s`, aim)
  printRow("  median", formatMs(p50), "")
  printRow("  99th percentile", formatMs(p99), "< 25 ms")
  printRow("  maximum", formatMs(max), "< 100 ms")
}

function printRow(label: string, figure: string, aim: string): void {
  console.log(`${label.padEnd(40)}${figure.padStart(14)}   ${aim}`)
}

/** CPU seconds that the server has used; on a shared machine less than the elapsed time. */
function cpuSeconds(server: RunningServer): number {
  const stat = readFileSync(`/proc/${server.process.pid}/stat`, "utf8")
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
  const ticksPerSecond = 100
  return (Number(user) + Number(system)) / ticksPerSecond
}

function formatMemory(server: RunningServer): string {
  const status = readFileSync(`/proc/${server.process.pid}/status`, "utf8")
  return formatMegabytes(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024)
}

function formatThousands(value: number): string {
  return Math.round(value).toLocaleString("en")
}
function formatMs(value: number): string {
  return `${value.toFixed(1)} ms`
}
function formatMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}
