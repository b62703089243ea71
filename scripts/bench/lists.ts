// How long lists and searches take among many users while others sign in, by the compiled binary:
// `bun scripts/bench/lists.ts [USERS] [ORGANISATIONS] [ROUNDS] [FOLDER] [PATTERN]`. All kinds of
// searches are asked in turn, shuffled, so that hardly one finds what the one before has warmed up.
// Writes a temporary folder, or the one that is named: that is kept, and used as it is the next
// time. With a pattern only the searches are asked whose name is like that, and nobody is created.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import type { DescMethod } from "@bufbuild/protobuf"
import { connect, methods, pathOf } from "../../test/acceptance/service.ts"
import {
  freePort,
  type Running,
  type ServiceKey,
  serviceToken,
  setUp,
  start,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import type { Beside, Waited } from "./beside.ts"
import { orgIdOf, populate, userIdOf } from "./population.ts"
import { elsewhere, isList, type Samples, type Search, searchesOf } from "./searches.ts"

const [users = 1_000_000, orgs = 1000, rounds = 3] = process.argv.slice(2, 5).map(Number)
const [kept, pattern = ""] = process.argv.slice(5)
const aims = users > 100_000 ? { half: "< 20 ms", most: "< 250 ms" } : { half: "", most: "< 40 ms" }
/** Kinds of searches that are told by name: those whose slowest answer took longest. */
const told = 15
const created = 10_000
const callers = 32
/** What rests is measured after so long. */
const restMs = 15_000

const any = (end: number) => Math.floor(Math.random() * end)
/** All of a text, or how it begins, which many have in common. */
const some = (text: string) => (any(2) ? text : text.slice(0, 1 + any(text.length)))
const numbered = (name: string) => () => `${name}${any(orgs)}`
const samples: Samples = {
  userId: () => userIdOf(any(users)),
  person: () => some(`person-${any(users)}`),
  organizationId: () => orgIdOf(any(orgs)),
  organizationName: () => some(numbered("Organisation ")()),
  projectId: numbered("project"),
  projectName: () => some(numbered("Project ")()),
  applicationId: numbered("app"),
  applicationName: () => some(numbered("Application ")()),
  clientId: numbered("client"),
  groupId: numbered("group"),
  groupName: () => some(numbered("Group ")()),
  grantId: numbered("grant"),
  authorizationId: numbered("authorization"),
  givenName: () => some(`Given${any(997)}`),
  familyName: () => some(`Family${any(10_007)}`),
  roleKey: () => some(numbered("role-")()),
  anywhere: () => any(users),
}

const folder = kept ? { path: kept, remove: () => {} } : temporaryFolder()
const data = join(folder.path, "data")
const { port, key } = await filled(join(folder.path, "key.json"))
const url = urlOf(port)
const starting = performance.now()
const server = await start({ data, port })
row("ready", ms(performance.now() - starting), "< 200 ms")
try {
  row("memory after the start", megabytes(server), "< 100 MB")
  await ready()
  const token = await serviceToken(url, key)
  await mixed(searches(), token)
  await sleep(restMs)
  row("memory at rest after it", megabytes(server), "< 150 MB")
  if (pattern === "") row("CreateUser", `${Math.round(await create(token))}/s`, "≥ 5,000/s")
} finally {
  await server.stop()
  folder.remove()
}

/** Views that are made anew after an update are waited for. */
async function ready(): Promise<void> {
  while ((await fetch(`${url}/debug/ready`)).status !== 200) await sleep(500)
}

/** What is measured: the port its address has, and the key of who may see all of it. */
async function filled(file: string): Promise<{ port: number; key: ServiceKey }> {
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"))
  mkdirSync(folder.path, { recursive: true })
  const port = await freePort()
  const key = await setUp(data, urlOf(port))
  const began = performance.now()
  await populate(join(data, "latchkey.db"), users, orgs)
  row("written past the API", `${Math.round(users / ((performance.now() - began) / 1000))}/s`, "")
  // What is not on disk yet would be waited for at the start, which syncs the database.
  await Bun.spawn(["sync"]).exited
  writeFileSync(file, JSON.stringify({ port, key }))
  return { port, key }
}

function urlOf(port: number): string {
  return `http://localhost:${port}`
}

/** Among everything, as the owner of the instance, who may see all of it. */
function searches(): readonly Search[] {
  const lists = methods.filter(isList)
  const all = searchesOf(methods, samples)
  const asked = new Set(all.map(({ method }) => method))
  const missed = lists.filter((method) => !elsewhere(method) && !asked.has(method))
  if (missed.length > 0) throw new Error(`not measured: ${missed.map(nameOf).join()}`)
  const wanted = all.filter(({ what }) => new RegExp(pattern).test(what))
  row("kinds of lists and searches", `${wanted.length}`, `of ${asked.size} operations`)
  return Array.from({ length: rounds }, () => wanted)
    .flat()
    .map((search) => ({ search, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ search }) => search)
}

/** Searches back to back, people who sign in beside them, and somebody who watches the loop. */
async function mixed(all: readonly Search[], token: string): Promise<void> {
  const beside = new Worker(new URL("./beside.ts", import.meta.url))
  beside.postMessage({ url, key } satisfies Beside)
  const byKind = new Map<string, number[]>()
  for (const search of all) {
    const took = await timeOf(search, token)
    byKind.set(search.what, [...(byKind.get(search.what) ?? []), took])
  }
  const { tokens, watched } = await ended(beside)
  const times = [...byKind.values()].flat()
  row("searches, median", ms(within(times, 0.5)), aims.half)
  row("  99th percentile", ms(within(times, 0.99)), aims.most)
  row("  worst", ms(Math.max(...times)), "")
  const slowest = [...byKind].map(([what, took]) => ({ what, most: Math.max(...took) }))
  for (const { what, most } of slowest.sort((a, b) => b.most - a.most).slice(0, told)) {
    row(`    ${what}`, ms(most), "")
  }
  row("tokens meanwhile, 99th percentile", ms(within(tokens, 0.99)), "< 15 ms")
  row("stalls of the loop, 99.9th percentile", ms(within(watched, 0.999)), "< 20 ms")
  row("  worst", ms(Math.max(...watched)), "< 50 ms")
}

/** What those beside have waited, when they are told to end. */
function ended(beside: Worker): Promise<Waited> {
  const { promise, resolve, reject } = Promise.withResolvers<Waited>()
  beside.addEventListener("message", ({ data }: MessageEvent<Waited>) => resolve(data))
  beside.addEventListener("error", ({ message }) => reject(new Error(message)))
  beside.postMessage("end")
  return promise.finally(() => beside.terminate())
}

async function timeOf({ what, method, request }: Search, token: string): Promise<number> {
  const asked = request()
  const before = performance.now()
  const { status, body } = await connect(url, pathOf(method).slice(1), { request: asked, token })
  const took = performance.now() - before
  // What a sample names need not be there, or not together; that is told as quickly.
  if (![200, 400, 404].includes(status)) {
    throw new Error(`${what} ended with ${status} ${JSON.stringify(body)}`)
  }
  return took
}

/** What so many of all times do not exceed. */
function within(times: readonly number[], part: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * part)] ?? 0
}

/** People without a password, by callers who wait for their answers. */
async function create(token: string): Promise<number> {
  let count = 0
  const before = performance.now()
  const call = async () => {
    while (count < created) {
      const name = `late-${count++}-${any(1_000_000)}`
      const human = {
        profile: { givenName: `Given${any(997)}`, familyName: `Family${any(10_007)}` },
        email: { email: `${name}@example.com`, isVerified: true },
      }
      const request = { organizationId: orgIdOf(any(orgs)), username: name, human }
      const { status, body } = await connect(url, "CreateUser", { request, token })
      if (status !== 200) throw new Error(`a user is not created: ${JSON.stringify(body)}`)
    }
  }
  await Promise.all(Array.from({ length: callers }, call))
  return created / ((performance.now() - before) / 1000)
}

function megabytes({ process: child }: Running): string {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8")
  return `${Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 976.6)} MB`
}

function nameOf(method: DescMethod): string {
  return `${method.parent.name}.${method.name}`
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`
}

function row(what: string, figure: string, aim: string): void {
  console.log(`${what.padEnd(72)}${figure.padStart(12)}   ${aim}`)
}
