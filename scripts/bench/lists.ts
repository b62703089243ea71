// Measures lists and searches among many users while other users sign in, with the compiled binary:
// `bun scripts/bench/lists.ts [USERS] [ORGANIZATIONS] [ROUNDS] [FOLDER] [PATTERN]`. The searches
// run in shuffled order, so that caches rarely help. Writes a temporary folder, or FOLDER, which is
// kept and reused. With PATTERN, only searches with a matching name run, and no users are created.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { DescMethod } from "@bufbuild/protobuf"
import { connect, methods, pathOf } from "../../test/acceptance/service.ts"
import {
  freePort,
  type RunningServer,
  type ServiceKey,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import type { Latencies, LatencyWorkerInput } from "./latency-worker.ts"
import { orgIdOf, populate, userIdOf } from "./population.ts"
import { exclusionReason, isList, type Samples, type Search, searchesOf } from "./searches.ts"

const [users = 1_000_000, orgs = 1000, rounds = 3] = process.argv.slice(2, 5).map(Number)
const [keptFolder, pattern = ""] = process.argv.slice(5)
const aims = users > 100_000 ? { half: "< 20 ms", most: "< 250 ms" } : { half: "", most: "< 40 ms" }
/** Number of searches to list by name: those with the slowest response. */
const slowestShown = 15
const createdUsers = 10_000
const callers = 32
/** Milliseconds before memory at rest is measured. */
const restMs = 15_000

const randomBelow = (end: number) => Math.floor(Math.random() * end)
/** A full value, or a prefix that many values share. */
const valueOrPrefix = (text: string) =>
  randomBelow(2) ? text : text.slice(0, 1 + randomBelow(text.length))
const numberedName = (name: string) => () => `${name}${randomBelow(orgs)}`
const samples: Samples = {
  userId: () => userIdOf(randomBelow(users)),
  person: () => valueOrPrefix(`person-${randomBelow(users)}`),
  organizationId: () => orgIdOf(randomBelow(orgs)),
  organizationName: () => valueOrPrefix(numberedName("Organization ")()),
  projectId: numberedName("project"),
  projectName: () => valueOrPrefix(numberedName("Project ")()),
  applicationId: numberedName("app"),
  applicationName: () => valueOrPrefix(numberedName("Application ")()),
  clientId: numberedName("client"),
  groupId: numberedName("group"),
  groupName: () => valueOrPrefix(numberedName("Group ")()),
  grantId: numberedName("grant"),
  authorizationId: numberedName("authorization"),
  givenName: () => valueOrPrefix(`Given${randomBelow(997)}`),
  familyName: () => valueOrPrefix(`Family${randomBelow(10_007)}`),
  roleKey: () => valueOrPrefix(numberedName("role-")()),
  randomOffset: () => randomBelow(users),
}

const folder = keptFolder ? { path: keptFolder, remove: () => {} } : temporaryFolder()
const data = join(folder.path, "data")
const { port, key } = await prepareData(join(folder.path, "key.json"))
const url = urlOf(port)
const startedAt = performance.now()
const server = await startLatchkey({ data, port })
row("ready", formatMs(performance.now() - startedAt), "< 200 ms")
try {
  row("memory after the start", formatMemory(server), "< 100 MB")
  await waitUntilReady()
  const token = await serviceToken(url, key)
  await runMixed(listSearches(), token)
  await sleep(restMs)
  row("memory at rest after it", formatMemory(server), "< 150 MB")
  if (pattern === "") row("CreateUser", `${Math.round(await createUsers(token))}/s`, "≥ 5,000/s")
} finally {
  await server.stop()
  folder.remove()
}

/** Waits until views that are rebuilt after an update are complete. */
async function waitUntilReady(): Promise<void> {
  while ((await fetch(`${url}/debug/ready`)).status !== 200) await sleep(500)
}

/** Prepares the data; returns the server's port, and the key of an instance owner. */
async function prepareData(file: string): Promise<{ port: number; key: ServiceKey }> {
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"))
  mkdirSync(folder.path, { recursive: true })
  const port = await freePort()
  const key = await setUp(data, urlOf(port))
  const startMs = performance.now()
  await populate(join(data, "latchkey.db"), users, orgs)
  row(
    "written directly to the database",
    `${Math.round(users / ((performance.now() - startMs) / 1000))}/s`,
    "",
  )
  // Flush pending writes first: the start syncs the database and would wait for them.
  await Bun.spawn(["sync"]).exited
  writeFileSync(file, JSON.stringify({ port, key }))
  return { port, key }
}

function urlOf(port: number): string {
  return `http://localhost:${port}`
}

/** All searches, run as the owner of the instance, who can read everything. */
function listSearches(): readonly Search[] {
  const lists = methods.filter(isList)
  const all = searchesOf(methods, samples)
  const operations = new Set(all.map(({ method }) => method))
  const unmatched = lists.filter((method) => !exclusionReason(method) && !operations.has(method))
  if (unmatched.length > 0) throw new Error(`not measured: ${unmatched.map(nameOf).join()}`)
  const selected = all.filter(({ what }) => new RegExp(pattern).test(what))
  row("lists and searches", `${selected.length}`, `of ${operations.size} operations`)
  return Array.from({ length: rounds }, () => selected)
    .flat()
    .map((search) => ({ search, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ search }) => search)
}

/** Runs the searches one after the other, next to sign-ins and liveness probes. */
async function runMixed(all: readonly Search[], token: string): Promise<void> {
  const latencyWorker = new Worker(new URL("./latency-worker.ts", import.meta.url))
  latencyWorker.postMessage({ url, key } satisfies LatencyWorkerInput)
  const byKind = new Map<string, number[]>()
  for (const search of all) {
    const took = await measureSearch(search, token)
    byKind.set(search.what, [...(byKind.get(search.what) ?? []), took])
  }
  const { tokens, probes } = await stopWorker(latencyWorker)
  const times = [...byKind.values()].flat()
  row("searches, median", formatMs(percentile(times, 0.5)), aims.half)
  row("  99th percentile", formatMs(percentile(times, 0.99)), aims.most)
  row("  worst", formatMs(Math.max(...times)), "")
  const slowest = [...byKind].map(([what, took]) => ({ what, most: Math.max(...took) }))
  for (const { what, most: fastLimit } of slowest
    .sort((a, b) => b.most - a.most)
    .slice(0, slowestShown)) {
    row(`    ${what}`, formatMs(fastLimit), "")
  }
  row("tokens meanwhile, 99th percentile", formatMs(percentile(tokens, 0.99)), "< 15 ms")
  row("event loop stalls, 99.9th percentile", formatMs(percentile(probes, 0.999)), "< 20 ms")
  row("  worst", formatMs(Math.max(...probes)), "< 50 ms")
}

/** Stops the latency worker and returns its latencies. */
function stopWorker(latencyWorker: Worker): Promise<Latencies> {
  const { promise, resolve, reject } = Promise.withResolvers<Latencies>()
  latencyWorker.addEventListener("message", ({ data }: MessageEvent<Latencies>) => resolve(data))
  latencyWorker.addEventListener("error", ({ message }) => reject(new Error(message)))
  latencyWorker.postMessage("end")
  return promise.finally(() => latencyWorker.terminate())
}

async function measureSearch({ what, method, request }: Search, token: string): Promise<number> {
  const operations = request()
  const before = performance.now()
  const { status, body } = await connect(url, pathOf(method).slice(1), {
    request: operations,
    token,
  })
  const took = performance.now() - before
  // A sample may name something that doesn't exist; the response takes as long.
  if (![200, 400, 404].includes(status)) {
    throw new Error(`${what} returned ${status} ${JSON.stringify(body)}`)
  }
  return took
}

/** The value that a fraction of all values does not exceed. */
function percentile(times: readonly number[], fraction: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * fraction)] ?? 0
}

/** Creates users without a password, from concurrent callers; returns the users per second. */
async function createUsers(token: string): Promise<number> {
  let count = 0
  const before = performance.now()
  const call = async () => {
    while (count < createdUsers) {
      const name = `late-${count++}-${randomBelow(1_000_000)}`
      const userInput = {
        profile: {
          givenName: `Given${randomBelow(997)}`,
          familyName: `Family${randomBelow(10_007)}`,
        },
        email: { email: `${name}@example.com`, isVerified: true },
      }
      const request = {
        organizationId: orgIdOf(randomBelow(orgs)),
        username: name,
        human: userInput,
      }
      const { status, body } = await connect(url, "CreateUser", { request, token })
      if (status !== 200) throw new Error(`user not created: ${JSON.stringify(body)}`)
    }
  }
  await Promise.all(Array.from({ length: callers }, call))
  return createdUsers / ((performance.now() - before) / 1000)
}

function formatMemory({ process: child }: RunningServer): string {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8")
  return `${Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 976.6)} MB`
}

function nameOf(method: DescMethod): string {
  return `${method.parent.name}.${method.name}`
}

function formatMs(value: number): string {
  return `${value.toFixed(1)} ms`
}

function row(label: string, figure: string, aim: string): void {
  console.log(`${label.padEnd(72)}${figure.padStart(12)}   ${aim}`)
}
