// Compares the duration of user searches between two binaries, which get the same requests
// alternately: `bun scripts/bench/search.ts BINARY BINARY [USERS] [ROUNDS] [FOLDER]`. Only the
// ratios are meaningful. Each binary has its own copy of the data. The phases are: no writes, cold
// files, and 50 user updates per second, after which the copies differ and result counts are no
// longer compared. Writes a temporary folder, or FOLDER, which is kept and reused.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { methodOf, pathOf } from "../../test/acceptance/service.ts"
import {
  apiScope,
  assertionOf,
  freePort,
  type RunningServer,
  type ServiceKey,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import { personOf } from "./person.ts"
import { populate, userIdOf } from "./population.ts"

const [programs, numbers] = [process.argv.slice(2, 4), process.argv.slice(4, 6).map(Number)]
const [users = 1_000_000, rounds = 20] = numbers
const keptFolder = process.argv[6]
const organizations = 1000
const updatesPerSecond = 50
/** The index is complete once its file has stopped growing for this long. */
const quietMs = 10_000

type Server = {
  readonly name: string
  readonly running: RunningServer
  readonly call: (method: string, request: object) => Promise<number>
}

type Kind = { readonly name: string; readonly weight: number; readonly request: () => object }

const randomBelow = (end: number) => Math.floor(Math.random() * end)
const randomPerson = () => personOf(randomBelow(users))
const [contains, startsWith, endsWith, equals, containsExactly] = [
  "CONTAINS_IGNORE_CASE",
  "STARTS_WITH_IGNORE_CASE",
  "ENDS_WITH_IGNORE_CASE",
  "EQUALS_IGNORE_CASE",
  "CONTAINS",
].map((name) => `TEXT_QUERY_METHOD_${name}`)

/** A part of three to twelve characters from anywhere in a text. */
function partOf(text: string, length = 3 + randomBelow(10)): string {
  const at = randomBelow(Math.max(1, text.length - length + 1))
  return text.slice(at, at + length)
}

const list = (query: object, options: object = {}) => ({
  query: { limit: 20, ...options },
  queries: [query],
})
const byEmail = (emailAddress: string, method = contains) => ({
  emailQuery: { emailAddress, method },
})
const byDisplayName = (displayName: string, method = contains) => ({
  displayNameQuery: { displayName, method },
})
/** The query that the console sends for its search field. */
const byAnyField = (text: string) => ({
  orQuery: {
    queries: [
      byDisplayName(text),
      { loginNameQuery: { loginName: text, method: contains } },
      byEmail(text),
    ],
  },
})
const commonText = () => ["gmail.com", "outlook", "hotmail.com", ".example"][randomBelow(4)] ?? ""
const lastCharacters = () => randomPerson().email.value.slice(-3 - randomBelow(10))
const unmatchedText = () => `q${randomBelow(1e9).toString(36)}x`
const sorted = { sortingColumn: "USER_FIELD_NAME_DISPLAY_NAME" }
const fullName = () => Object.values(randomPerson().profile).join(" ")

/** A typical mix of searches, mostly from the console, and some from API clients. */
const kinds: readonly Kind[] = [
  {
    name: "console, part of a name",
    weight: 6,
    request: () => list(byAnyField(partOf(fullName()))),
  },
  {
    name: "console, part of an address",
    weight: 4,
    request: () => list(byAnyField(partOf(randomPerson().email.value))),
  },
  {
    name: "console, two characters",
    weight: 2,
    request: () => list(byAnyField(partOf(fullName(), 2))),
  },
  { name: "console, very common", weight: 1, request: () => list(byAnyField(commonText())) },
  { name: "console, no match", weight: 2, request: () => list(byAnyField(unmatchedText())) },
  {
    name: "address contains",
    weight: 3,
    request: () => list(byEmail(partOf(randomPerson().email.value))),
  },
  {
    name: "address contains two characters",
    weight: 1,
    request: () => list(byEmail(partOf(randomPerson().email.value, 2))),
  },
  { name: "address contains, very common", weight: 1, request: () => list(byEmail(commonText())) },
  {
    name: "address contains, very common, far",
    weight: 1,
    request: () => list(byEmail(commonText()), { offset: randomBelow(users / 20) }),
  },
  { name: "address contains, no match", weight: 1, request: () => list(byEmail(unmatchedText())) },
  {
    name: "address ends with",
    weight: 1,
    request: () => list(byEmail(lastCharacters(), endsWith)),
  },
  {
    name: "address equals",
    weight: 2,
    request: () => list(byEmail(randomPerson().email.value, equals)),
  },
  {
    name: "address starts with",
    weight: 2,
    request: () =>
      list(byEmail(randomPerson().email.value.slice(0, 3 + randomBelow(6)), startsWith)),
  },
  {
    name: "name contains, by name",
    weight: 2,
    request: () => ({ ...list(byDisplayName(partOf(fullName())), { asc: true }), ...sorted }),
  },
  {
    name: "name contains, by name, far",
    weight: 1,
    request: () => ({
      ...list(byDisplayName(partOf(fullName(), 3)), { offset: randomBelow(500) }),
      ...sorted,
    }),
  },
  {
    name: "name contains, by case",
    weight: 1,
    request: () => list(byDisplayName(partOf(fullName()), containsExactly)),
  },
]
const folder = keptFolder ? { path: keptFolder, remove: () => {} } : temporaryFolder()
const { port, key } = await prepareData(join(folder.path, "data"), join(folder.path, "key.json"))
const servers: Server[] = []
const started: RunningServer[] = []
/** The last total of each search; both servers must return the same. */
const totals = new Map<string, unknown>()
try {
  for (const [at, program] of programs.entries()) await openServer(program, at)
  await runPhase("no other load", servers, {})
  await runPhase("cold files", servers, { withColdFiles: true, count: Math.ceil(rounds / 4) })
  await runPhase(`${updatesPerSecond} updates a second`, servers, { withWrites: true })
  for (const { name, running } of servers)
    printRow(`${name}: memory`, [formatMegabytes(memoryOf(running))])
  for (const { name, running } of servers)
    printRow(`${name}: index`, [formatMegabytes(indexSize(running))])
} finally {
  for (const running of started) await running.stop()
  folder.remove()
}

async function prepareData(data: string, file: string): Promise<{ port: number; key: ServiceKey }> {
  if (!existsSync(file)) {
    mkdirSync(folder.path, { recursive: true })
    const port = await freePort()
    const key = await setUp(data, `http://localhost:${port}`)
    await populate(join(data, "latchkey.db"), users, organizations, personOf)
    writeFileSync(file, JSON.stringify({ port, key }))
  }
  return JSON.parse(readFileSync(file, "utf8"))
}

/** Starts a server on its own copy of the data and waits until its index is complete. */
async function openServer(program: string, at: number): Promise<void> {
  const data = join(folder.path, `copy-${at}`)
  if (!existsSync(data)) cpSync(join(folder.path, "data"), data, { recursive: true })
  await Bun.spawn(["sync", "-f", data]).exited
  const ownPort = await freePort()
  const running = await startLatchkey({ data, port: ownPort, program })
  started.push(running)
  const name = `${"AB"[at]}`
  const host = `localhost:${port}`
  const address = `http://127.0.0.1:${ownPort}`
  while ((await fetch(`${address}/debug/ready`, { headers: { host } })).status !== 200) {
    await sleep(100)
  }
  const token = await tokenOf(address, host)
  const call = async (method: string, request: object): Promise<number> => {
    const before = performance.now()
    const answer = await fetch(`${address}${pathOf(methodOf(method))}`, {
      method: "POST",
      headers: { host, "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify(request),
    })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${method} returned ${answer.status} ${text}`)
    totals.set(name, JSON.parse(text).details?.totalResult)
    return performance.now() - before
  }
  const [before, cpuBefore] = [performance.now(), cpuMs(running)]
  await call("ListUsers", list(byEmail(unmatchedText())))
  for (let [size, since] = [0, performance.now()]; performance.now() - since < quietMs; ) {
    await sleep(500)
    const now = indexSize(running)
    if (now === 0 || now !== size) since = performance.now()
    size = now
  }
  const built = (performance.now() - before - quietMs) / 1000
  const cpu = (cpuMs(running) - cpuBefore) / 1000
  printRow(`${name}: ${program}`, [`${built.toFixed(0)} s`, `${cpu.toFixed(1)} s CPU`])
  printRow(`${name}: memory after indexing`, [formatMegabytes(memoryOf(running))])
  servers.push({ name, running, call })
}

async function tokenOf(address: string, host: string): Promise<string> {
  const response = await fetch(`${address}/oauth/v2/token`, {
    method: "POST",
    headers: { host },
    body: new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: await assertionOf(`http://${host}`, key),
      scope: apiScope,
    }),
  })
  return (await response.json()).access_token
}

type PhaseOptions = {
  readonly withWrites?: boolean
  readonly withColdFiles?: boolean
  readonly count?: number
}

/** Runs all searches on both servers in a changing order. */
async function runPhase(
  title: string,
  all: readonly Server[],
  { withWrites = false, withColdFiles = false, count = rounds }: PhaseOptions,
): Promise<void> {
  const times = new Map<string, Map<string, number[]>>()
  const used = new Map<string, number[]>()
  const requests = Array.from({ length: count }, () =>
    kinds.flatMap((kind) => Array.from({ length: kind.weight }, () => kind)),
  )
    .flat()
    .map((kind) => ({ kind, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
  const writers = withWrites ? all.map(startUpdates) : []
  for (const { kind } of requests) {
    const request = kind.request()
    const rotated = Math.random() < 0.5 ? all : all.toReversed()
    for (const server of rotated) {
      if (withColdFiles) await evictFiles(server.running)
      const cpu = cpuMs(server.running)
      const took = await server.call("ListUsers", request)
      used.set(server.name, [...(used.get(server.name) ?? []), cpuMs(server.running) - cpu])
      const percentiles = times.get(kind.name) ?? new Map<string, number[]>()
      times.set(
        kind.name,
        percentiles.set(server.name, [...(percentiles.get(server.name) ?? []), took]),
      )
    }
    const [one, other] = all.map(({ name }) => totals.get(name))
    if (!withWrites && one !== other) {
      throw new Error(`results differ, ${one} and ${other}: ${JSON.stringify(request)}`)
    }
  }
  for (const writer of writers) {
    const { count, seconds } = await writer.end()
    printRow(`${writer.name}: updates`, [`${(count / seconds).toFixed(0)}/s`])
  }
  report(title, times, used)
}

/** Updates users at a constant rate until stopped. */
function startUpdates({ name, call }: Server) {
  let [isOver, count] = [false, 0]
  const startedAt = performance.now()
  const pending = new Set<Promise<unknown>>()
  const loop = async () => {
    while (!isOver) {
      const due = Math.floor(((performance.now() - startedAt) / 1000) * updatesPerSecond)
      // A slow server gets at most 32 updates at once.
      for (; count < due && pending.size < 32; count++) {
        const { profile } = randomPerson()
        const update = call("UpdateUser", {
          userId: userIdOf(randomBelow(users)),
          human: { profile: { ...profile, nickName: `N${randomBelow(1000)}` } },
        }).catch((cause) => console.log(`${name}: ${cause}`))
        pending.add(update)
        void update.finally(() => pending.delete(update))
      }
      await sleep(10)
    }
    await Promise.all(pending)
    return { count, seconds: (performance.now() - startedAt) / 1000 }
  }
  const ended = loop()
  return {
    name,
    end: () => {
      isOver = true
      return ended
    },
  }
}

/** Evicts a server's files from the page cache. */
async function evictFiles(running: RunningServer): Promise<void> {
  const open = openFiles(running).filter(({ target }) => target.includes("latchkey.db"))
  for (const { path } of open) {
    await Bun.spawn(["sync", "-d", path], { stderr: "ignore" }).exited
    await Bun.spawn(["dd", `if=${path}`, "iflag=nocache", "count=0"], { stderr: "ignore" }).exited
  }
}

function openFiles({ process: { pid } }: RunningServer) {
  const descriptors = `/proc/${pid}/fd`
  const files = readdirSync(descriptors).map((name) => {
    const path = join(descriptors, name)
    return { path, target: linkOf(path) }
  })
  return [...new Map(files.map((file) => [file.target, file])).values()]
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ""
  }
}

function indexSize(running: RunningServer): number {
  const file = openFiles(running).find(({ target }) => /-texts/.test(target))
  return file ? statSync(file.path).size : 0
}

function memoryOf({ process: { pid } }: RunningServer): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024
}

/** CPU time of all threads; less dependent on other load than elapsed time. */
function cpuMs({ process: { pid } }: RunningServer): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const nanoseconds = threads.map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]),
  )
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e6
}

type LatenciesByKind = ReadonlyMap<string, readonly number[]>

function report(
  title: string,
  times: ReadonlyMap<string, LatenciesByKind>,
  used: LatenciesByKind,
): void {
  console.log(`\n${title}: median and 99th percentile of A and B, and B / A`)
  const all = new Map<string, number[]>()
  for (const [kind, percentiles] of times) {
    for (const [name, some] of percentiles) all.set(name, [...(all.get(name) ?? []), ...some])
    printRow(kind, formatFigures(percentiles))
  }
  printRow("all", formatFigures(all))
  printRow("all, CPU time", formatFigures(used))
}

function formatFigures(percentiles: ReadonlyMap<string, readonly number[]>): readonly string[] {
  const [a = [], b = []] = ["A", "B"].map((name) => percentiles.get(name) ?? [])
  const [half, high] = [0.5, 0.99].map(
    (share) => [percentile(a, share), percentile(b, share)] as const,
  )
  const ratio = ([one, other]: readonly [number, number] = [1, 1]) => (other / one).toFixed(2)
  const ms = (value = 0) => value.toFixed(1)
  return [ms(half?.[0]), ms(high?.[0]), ms(half?.[1]), ms(high?.[1]), ratio(half), ratio(high)]
}

/** The value that a fraction of all values does not exceed. */
function percentile(values: readonly number[], share: number): number {
  const ascending = values.toSorted((one, other) => one - other)
  return ascending[Math.floor((ascending.length - 1) * share)] ?? 0
}

function formatMegabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}

function printRow(label: string, cells: readonly string[]): void {
  console.log(label.padEnd(40) + cells.map((cell) => cell.padStart(10)).join(""))
}
