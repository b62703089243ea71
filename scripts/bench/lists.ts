// How long every list and search takes among many users, by the compiled binary on one core:
// `bun scripts/bench/lists.ts [USERS] [ORGANISATIONS] [ROUNDS] [FOLDER] [PATTERN]`. Writes a
// temporary folder, or the one that is named: that is kept, and used as it is the next time. With a
// pattern only the searches are measured whose name is like that, and nobody is created.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
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
import { orgIdOf, populate, userIdOf } from "./population.ts"
import { elsewhere, isList, type Samples, type Search, searchesOf } from "./searches.ts"

const [users = 1_000_000, orgs = 1000, rounds = 100] = process.argv.slice(2, 5).map(Number)
const [kept, pattern = ""] = process.argv.slice(5)
const aimMs = 50
/** Rows that take less are only counted. */
const toldMs = 10
const created = 10_000
const callers = 32

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
  await pin(server)
  row("memory after the start", megabytes(server), "< 300 MB")
  await measureAll(await serviceToken(url, key))
  row("memory after all lists", megabytes(server), "< 300 MB")
  if (pattern === "") {
    const rate = await create(await serviceToken(url, key))
    row("created by the API", `${Math.round(rate)}/s`, "> 2000/s")
  }
  row("memory after that", megabytes(server), "< 300 MB")
} finally {
  await server.stop()
  folder.remove()
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
async function measureAll(token: string): Promise<void> {
  const lists = methods.filter(isList)
  for (const method of lists) {
    const reason = elsewhere(method)
    if (reason) row(nameOf(method), "-", reason)
  }
  const all = searchesOf(methods, samples)
  const measured = new Set(all.map(({ method }) => method))
  const missed = lists.filter((method) => !elsewhere(method) && !measured.has(method))
  if (missed.length > 0) throw new Error(`not measured: ${missed.map(nameOf).join()}`)
  const searches = all.filter(({ what }) => new RegExp(pattern).test(what))
  let quick = 0
  let slow = 0
  let heavy = 0
  for (const search of searches) {
    const { most, half, first, work } = await measure(search, token)
    if (most < toldMs) quick++
    else row(search.what, ms(most), `half ${ms(half)}, first ${ms(first)}, work ${ms(work)}`)
    if (most >= aimMs) slow++
    if (work >= aimMs) heavy++
  }
  row("lists and searches", `${searches.length}`, `of ${measured.size} operations`)
  row(`within ${toldMs} ms`, `${quick}`, "99 of 100 times")
  row(`not within ${aimMs} ms`, `${slow}`, "0")
  row(`more than ${aimMs} ms of work`, `${heavy}`, "0; what waits for the processor is not in it")
}

async function measure({ what, method, request }: Search, token: string) {
  const times: number[] = []
  const works: number[] = []
  for (let round = 0; round < rounds; round++) {
    const asked = request()
    const worked = workOf(server)
    const before = performance.now()
    const { status, body } = await connect(url, pathOf(method).slice(1), { request: asked, token })
    times.push(performance.now() - before)
    works.push(workOf(server) - worked)
    // What a sample names need not be there, or not together; that is told as quickly.
    if (status === 200 || status === 404) continue
    if (status !== 400) throw new Error(`${what} ended with ${status} ${JSON.stringify(body)}`)
    row(what, "refused", body.message)
    break
  }
  const [first = 0] = times
  return { half: within(times, 0.5), most: within(times, 0.99), work: within(works, 0.99), first }
}

/** What so many of all times do not exceed. */
function within(times: readonly number[], part: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * part)] ?? 0
}

/** Milliseconds that the thread which answers has worked so far. */
function workOf({ process: child }: Running): number {
  return Number(readFileSync(`/proc/${child.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6
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

async function pin({ process: child }: Running): Promise<void> {
  await Bun.spawn(["taskset", "-a", "-c", "-p", "0", `${child.pid}`], { stdout: "ignore" }).exited
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
