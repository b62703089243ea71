// How long searches of users take by two binaries, asked the same in turn, so that what else the
// machine does slows both: `bun scripts/bench/search.ts BINARY BINARY [USERS] [ROUNDS] [FOLDER]`.
// Only the ratios count. Each binary has its own copy of the same data. First nothing is written,
// then no page of the files is in memory, and last 50 users are updated each second: from then on
// the copies differ, and the numbers of results are no longer compared. Writes a
// temporary folder, or the one that is named, which is kept and used again the next time.
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
  type Running,
  type ServiceKey,
  setUp,
  start,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import { personOf } from "./person.ts"
import { populate, userIdOf } from "./population.ts"

const [programs, numbers] = [process.argv.slice(2, 4), process.argv.slice(4, 6).map(Number)]
const [users = 1_000_000, rounds = 20] = numbers
const kept = process.argv[6]
const organizations = 1000
const updatesPerSecond = 50
/** The index is complete when its file has not grown for so long. */
const quietMs = 10_000

type Server = {
  readonly name: string
  readonly running: Running
  readonly call: (method: string, request: object) => Promise<number>
}

type Kind = { readonly name: string; readonly weight: number; readonly request: () => object }

const any = (end: number) => Math.floor(Math.random() * end)
const anyPerson = () => personOf(any(users))
const [contains, startsWith, endsWith, equals, containsExactly] = [
  "CONTAINS_IGNORE_CASE",
  "STARTS_WITH_IGNORE_CASE",
  "ENDS_WITH_IGNORE_CASE",
  "EQUALS_IGNORE_CASE",
  "CONTAINS",
].map((name) => `TEXT_QUERY_METHOD_${name}`)

/** From three to twelve characters of a text, anywhere in it. */
function part(text: string, length = 3 + any(10)): string {
  const at = any(Math.max(1, text.length - length + 1))
  return text.slice(at, at + length)
}

const list = (query: object, more: object = {}) => ({
  query: { limit: 20, ...more },
  queries: [query],
})
const byEmail = (emailAddress: string, method = contains) => ({
  emailQuery: { emailAddress, method },
})
const byDisplayName = (displayName: string, method = contains) => ({
  displayNameQuery: { displayName, method },
})
/** What the console sends for its search field. */
const byAny = (text: string) => ({
  orQuery: {
    queries: [
      byDisplayName(text),
      { loginNameQuery: { loginName: text, method: contains } },
      byEmail(text),
    ],
  },
})
const common = () => ["gmail.com", "outlook", "hotmail.com", ".example"][any(4)] ?? ""
const endOf = () => anyPerson().email.value.slice(-3 - any(10))
const absent = () => `q${any(1e9).toString(36)}x`
const sorted = { sortingColumn: "USER_FIELD_NAME_DISPLAY_NAME" }
const fullName = () => Object.values(anyPerson().profile).join(" ")

/** As people search, most of them in the console, and as programs do. */
const kinds: readonly Kind[] = [
  { name: "console, part of a name", weight: 6, request: () => list(byAny(part(fullName()))) },
  {
    name: "console, part of an address",
    weight: 4,
    request: () => list(byAny(part(anyPerson().email.value))),
  },
  { name: "console, two characters", weight: 2, request: () => list(byAny(part(fullName(), 2))) },
  { name: "console, very common", weight: 1, request: () => list(byAny(common())) },
  { name: "console, no match", weight: 2, request: () => list(byAny(absent())) },
  {
    name: "address contains",
    weight: 3,
    request: () => list(byEmail(part(anyPerson().email.value))),
  },
  {
    name: "address contains two characters",
    weight: 1,
    request: () => list(byEmail(part(anyPerson().email.value, 2))),
  },
  { name: "address contains, very common", weight: 1, request: () => list(byEmail(common())) },
  {
    name: "address contains, very common, far",
    weight: 1,
    request: () => list(byEmail(common()), { offset: any(users / 20) }),
  },
  { name: "address contains, no match", weight: 1, request: () => list(byEmail(absent())) },
  { name: "address ends with", weight: 1, request: () => list(byEmail(endOf(), endsWith)) },
  {
    name: "address equals",
    weight: 2,
    request: () => list(byEmail(anyPerson().email.value, equals)),
  },
  {
    name: "address starts with",
    weight: 2,
    request: () => list(byEmail(anyPerson().email.value.slice(0, 3 + any(6)), startsWith)),
  },
  {
    name: "name contains, by name",
    weight: 2,
    request: () => ({ ...list(byDisplayName(part(fullName())), { asc: true }), ...sorted }),
  },
  {
    name: "name contains, by name, far",
    weight: 1,
    request: () => ({
      ...list(byDisplayName(part(fullName(), 3)), { offset: any(500) }),
      ...sorted,
    }),
  },
  {
    name: "name contains, by case",
    weight: 1,
    request: () => list(byDisplayName(part(fullName()), containsExactly)),
  },
]
const folder = kept ? { path: kept, remove: () => {} } : temporaryFolder()
const { port, key } = await filled(join(folder.path, "data"), join(folder.path, "key.json"))
const servers: Server[] = []
const started: Running[] = []
/** The last total that each server has answered: both must be the same. */
const totals = new Map<string, unknown>()
try {
  for (const [at, program] of programs.entries()) await open(program, at)
  await phase("nothing else", servers, {})
  await phase("cold files", servers, { isCold: true, count: Math.ceil(rounds / 4) })
  await phase(`${updatesPerSecond} updates a second`, servers, { isWritten: true })
  for (const { name, running } of servers) row(`${name}: memory`, [megabytes(memoryOf(running))])
  for (const { name, running } of servers) row(`${name}: index`, [megabytes(indexSize(running))])
} finally {
  for (const running of started) await running.stop()
  folder.remove()
}

async function filled(data: string, file: string): Promise<{ port: number; key: ServiceKey }> {
  if (!existsSync(file)) {
    mkdirSync(folder.path, { recursive: true })
    const port = await freePort()
    const key = await setUp(data, `http://localhost:${port}`)
    await populate(join(data, "latchkey.db"), users, organizations, personOf)
    writeFileSync(file, JSON.stringify({ port, key }))
  }
  return JSON.parse(readFileSync(file, "utf8"))
}

/** A server on its own copy of the data, with a complete index. */
async function open(program: string, at: number): Promise<void> {
  const data = join(folder.path, `copy-${at}`)
  if (!existsSync(data)) cpSync(join(folder.path, "data"), data, { recursive: true })
  await Bun.spawn(["sync", "-f", data]).exited
  const own = await freePort()
  const running = await start({ data, port: own, program })
  started.push(running)
  const name = `${"AB"[at]}`
  const host = `localhost:${port}`
  const address = `http://127.0.0.1:${own}`
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
    if (answer.status !== 200) throw new Error(`${method} ended with ${answer.status} ${text}`)
    totals.set(name, JSON.parse(text).details?.totalResult)
    return performance.now() - before
  }
  const [before, cpuBefore] = [performance.now(), cpuMs(running)]
  await call("ListUsers", list(byEmail(absent())))
  for (let [size, since] = [0, performance.now()]; performance.now() - since < quietMs; ) {
    await sleep(500)
    const now = indexSize(running)
    if (now === 0 || now !== size) since = performance.now()
    size = now
  }
  const built = (performance.now() - before - quietMs) / 1000
  const cpu = (cpuMs(running) - cpuBefore) / 1000
  row(`${name}: ${program}`, [`${built.toFixed(0)} s`, `${cpu.toFixed(1)} s CPU`])
  row(`${name}: memory after it`, [megabytes(memoryOf(running))])
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
  readonly isWritten?: boolean
  readonly isCold?: boolean
  readonly count?: number
}

/** Asks everything of both servers, one after the other, in an order that changes. */
async function phase(
  title: string,
  all: readonly Server[],
  { isWritten = false, isCold = false, count = rounds }: PhaseOptions,
): Promise<void> {
  const times = new Map<string, Map<string, number[]>>()
  const used = new Map<string, number[]>()
  const requests = Array.from({ length: count }, () =>
    kinds.flatMap((kind) => Array.from({ length: kind.weight }, () => kind)),
  )
    .flat()
    .map((kind) => ({ kind, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
  const writers = isWritten ? all.map(updating) : []
  for (const { kind } of requests) {
    const request = kind.request()
    const inTurn = Math.random() < 0.5 ? all : all.toReversed()
    for (const server of inTurn) {
      if (isCold) await evict(server.running)
      const cpu = cpuMs(server.running)
      const took = await server.call("ListUsers", request)
      used.set(server.name, [...(used.get(server.name) ?? []), cpuMs(server.running) - cpu])
      const of = times.get(kind.name) ?? new Map<string, number[]>()
      times.set(kind.name, of.set(server.name, [...(of.get(server.name) ?? []), took]))
    }
    const [one, other] = all.map(({ name }) => totals.get(name))
    if (!isWritten && one !== other) {
      throw new Error(`${one} or ${other} results: ${JSON.stringify(request)}`)
    }
  }
  for (const writer of writers) {
    const { count, seconds } = await writer.end()
    row(`${writer.name}: updates`, [`${(count / seconds).toFixed(0)}/s`])
  }
  report(title, times, used)
}

/** Updates users at a steady rate until it is ended. */
function updating({ name, call }: Server) {
  let [isOver, count] = [false, 0]
  const began = performance.now()
  const pending = new Set<Promise<unknown>>()
  const loop = async () => {
    while (!isOver) {
      const due = Math.floor(((performance.now() - began) / 1000) * updatesPerSecond)
      // A server that is late gets no more than so many at once.
      for (; count < due && pending.size < 32; count++) {
        const { profile } = anyPerson()
        const update = call("UpdateUser", {
          userId: userIdOf(any(users)),
          human: { profile: { ...profile, nickName: `N${any(1000)}` } },
        }).catch((cause) => console.log(`${name}: ${cause}`))
        pending.add(update)
        void update.finally(() => pending.delete(update))
      }
      await sleep(10)
    }
    await Promise.all(pending)
    return { count, seconds: (performance.now() - began) / 1000 }
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

/** Drops the pages of a server's files from memory, and of no others. */
async function evict(running: Running): Promise<void> {
  const open = openFiles(running).filter(({ target }) => target.includes("latchkey.db"))
  for (const { path } of open) {
    await Bun.spawn(["sync", "-d", path], { stderr: "ignore" }).exited
    await Bun.spawn(["dd", `if=${path}`, "iflag=nocache", "count=0"], { stderr: "ignore" }).exited
  }
}

function openFiles({ process: { pid } }: Running) {
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

function indexSize(running: Running): number {
  const file = openFiles(running).find(({ target }) => /-texts/.test(target))
  return file ? statSync(file.path).size : 0
}

function memoryOf({ process: { pid } }: Running): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024
}

/** CPU time of all threads, which depends less on what else the machine does. */
function cpuMs({ process: { pid } }: Running): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const nanoseconds = threads.map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]),
  )
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e6
}

type Times = ReadonlyMap<string, readonly number[]>

function report(title: string, times: ReadonlyMap<string, Times>, used: Times): void {
  console.log(`\n${title}: median and 99th percentile of A, of B, and B / A`)
  const all = new Map<string, number[]>()
  for (const [kind, of] of times) {
    for (const [name, some] of of) all.set(name, [...(all.get(name) ?? []), ...some])
    row(kind, figures(of))
  }
  row("all", figures(all))
  row("all, CPU time", figures(used))
}

function figures(of: ReadonlyMap<string, readonly number[]>): readonly string[] {
  const [a = [], b = []] = ["A", "B"].map((name) => of.get(name) ?? [])
  const [half, most] = [0.5, 0.99].map((share) => [within(a, share), within(b, share)] as const)
  const ratio = ([one, other]: readonly [number, number] = [1, 1]) => (other / one).toFixed(2)
  const ms = (value = 0) => value.toFixed(1)
  return [ms(half?.[0]), ms(most?.[0]), ms(half?.[1]), ms(most?.[1]), ratio(half), ratio(most)]
}

/** The value that so large a share of all values does not exceed. */
function within(values: readonly number[], share: number): number {
  const ascending = values.toSorted((one, other) => one - other)
  return ascending[Math.floor((ascending.length - 1) * share)] ?? 0
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}

function row(what: string, cells: readonly string[]): void {
  console.log(what.padEnd(40) + cells.map((cell) => cell.padStart(10)).join(""))
}
