// The figures of the compiled binary, by one command: `bun scripts/bench/run.ts [SECONDS]`. The
// server has one core to itself, whoever asks it has the other. Writes temporary folders only.
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { connect } from "../../test/acceptance/service.ts"
import {
  apiScope,
  binary,
  freePort,
  type Running,
  type ServiceKey,
  serviceToken,
  setUp,
  start,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import type { Figures } from "./figure.ts"

const seconds = Number(process.argv[2] ?? 60)
const eventsWanted = 100_000
const [serverCore, otherCore] = ["0", "1"]

const folder = temporaryFolder()
const data = join(folder.path, "data")
const port = await freePort()
const url = `http://127.0.0.1:${port}`

row("binary", `${(statSync(binary).size / 1e6).toFixed(1)} MB`, "< 125 MB")
await bareStore()
const key = await setUp(data, url)
await running(await startPinned(), (server) => createUsers(server, key))
await running(await restart(), (server) => read(server, key))
folder.remove()

/** Stops the server whatever happens meanwhile. */
async function running(server: Running, work: (server: Running) => Promise<void>): Promise<void> {
  try {
    await work(server)
  } finally {
    await server.stop()
  }
}

async function bareStore(): Promise<void> {
  const script = join(import.meta.dirname, "bare-store.ts")
  const printed = await output([
    "taskset",
    "-c",
    serverCore,
    process.execPath,
    script,
    `${seconds}`,
  ])
  const { stall, walMax, ...figures }: Figures & { stall: number; walMax: number } =
    JSON.parse(printed)
  rows("bare store, 64 callers", figures, "≥ 15,000/s")
  row("  event-loop stall", ms(stall), "< 10 ms")
  row("  WAL at most", megabytes(walMax), "bounded")
}

async function startPinned(): Promise<Running> {
  const server = await start({ data, port })
  await output(["taskset", "-a", "-c", "-p", serverCore, `${server.process.pid}`])
  return server
}

/** CreateUser through the dispatcher, until there are as many events as the start shall find. */
async function createUsers(server: Running, service: ServiceKey): Promise<void> {
  const token = await serviceToken(url, service, apiScope)
  const orgs = await connect(url, "ListOrganizations", { request: {}, token })
  const script = join(import.meta.dirname, "generator.ts")
  const org: string = orgs.body.result[0].id
  const generate = (duration: number) =>
    output(["taskset", "-c", otherCore, process.execPath, script, url, token, org, `${duration}`])
  await generate(2)
  let walMax = 0
  const sampling = setInterval(() => {
    walMax = Math.max(walMax, statSync(join(data, "latchkey.db-wal")).size)
  }, 100)
  const before = cpuSeconds(server)
  const figures: Figures & { count: number } = JSON.parse(await generate(seconds))
  const perCore = figures.count / (cpuSeconds(server) - before)
  let count = figures.count
  while (count < eventsWanted) count += Number(JSON.parse(await generate(5)).count)
  clearInterval(sampling)
  rows("CreateUser over Connect, 64 callers", figures, "≥ 5,000/s")
  row("  for each second of the core", `${thousands(perCore)}/s`, "")
  row("  WAL at most", megabytes(walMax), "bounded")
  row("  memory under load", memoryOf(server), "")
}

/** The start with all those events; the best of five, since the machine has other guests. */
async function restart(): Promise<Running> {
  const times: number[] = []
  for (let round = 0; round < 5; round++) times.push(await readyMs())
  row(`ready with ${thousands(eventsWanted)} events`, ms(Math.min(...times)), "< 100 ms")
  const server = await startPinned()
  await sleep(3000)
  row("  memory at rest", memoryOf(server), "< 75 MB")
  return server
}

/** From the start of the process to its first answer. */
async function readyMs(): Promise<number> {
  const started = performance.now()
  const listen = ["--listen", `127.0.0.1:${port}`, "--grpc-listen", "127.0.0.1:0"]
  const command = [binary, "serve", "--data", data, ...listen]
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

async function read(server: Running, service: ServiceKey): Promise<void> {
  if (!Bun.which("wrk")) {
    row("discovery, keys, userinfo", "not measured", "wrk is missing (apt-get install wrk)")
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
    const printed = await output(["taskset", "-c", otherCore, ...wrk])
    const used = cpuSeconds(server) - before
    const refused = /Non-2xx.*/.exec(printed)?.[0]
    const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(printed)?.[1])
    row(`GET ${path}`, refused ?? `${thousands(perSecond)}/s`, aim)
    const count = Number(/(\d+) requests in/.exec(printed)?.[1])
    row("  for each second of the core", `${thousands(count / used)}/s`, "")
  }
}

async function output(command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], { stdout: "pipe", stderr: "pipe" })
  const [text, problem, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  if (code !== 0) throw new Error(`${command.slice(0, 6).join(" ")} ended with ${code}: ${problem}`)
  return text
}

function rows(what: string, { perSecond, p50, p99, worst }: Figures, aim: string): void {
  row(what, `${thousands(perSecond)}/s`, aim)
  row("  half of them within", ms(p50), "")
  row("  99 of 100 within", ms(p99), "< 25 ms")
  row("  the slowest", ms(worst), "< 100 ms")
}

function row(what: string, figure: string, aim: string): void {
  console.log(`${what.padEnd(40)}${figure.padStart(14)}   ${aim}`)
}

/** What the process has had of its core: on a machine with other guests, less than the time. */
function cpuSeconds(server: Running): number {
  const stat = readFileSync(`/proc/${server.process.pid}/stat`, "utf8")
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
  const ticksPerSecond = 100
  return (Number(user) + Number(system)) / ticksPerSecond
}

function memoryOf(server: Running): string {
  const status = readFileSync(`/proc/${server.process.pid}/status`, "utf8")
  return megabytes(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024)
}

function thousands(value: number): string {
  return Math.round(value).toLocaleString("en")
}
function ms(value: number): string {
  return `${value.toFixed(1)} ms`
}
function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}
