// A backup of a server that others use meanwhile, and its restore:
// `bun scripts/bench/backup.ts [PEOPLE] [FOLDER]`. Says how long it took, its memory at its
// highest, and what others waited before and meanwhile. A folder that is named is kept, and not
// filled a second time. Needs dist/latchkey, and Linux, which tells the memory.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { loadavg } from "node:os"
import { join, resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import {
  binary,
  freePort,
  type ServiceKey,
  setUp,
  start,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import type { Beside, Waited } from "./beside.ts"
import { populate } from "./population.ts"

const [people = "1000000", kept] = process.argv.slice(2)
const folder = kept === undefined ? temporaryFolder() : { path: resolve(kept), remove: () => {} }
const at = (name: string) => join(folder.path, name)
const data = at("data")
const calmMs = 15_000

type House = { readonly port: number; readonly key: ServiceKey }
const urlOf = (port: number) => `http://localhost:${port}`

async function filled(): Promise<House> {
  const file = at("house.json")
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"))
  mkdirSync(folder.path, { recursive: true })
  const port = await freePort()
  const key = await setUp(data, urlOf(port))
  await populate(join(data, "latchkey.db"), Number(people), 1000)
  // What is not on disk yet would be written while others are timed.
  await Bun.spawn(["sync"]).exited
  writeFileSync(file, JSON.stringify({ port, key }))
  return { port, key }
}

/** What others wait while something is done. */
async function beside({ port, key }: House, work: () => Promise<void>): Promise<Waited> {
  const others = new Worker(new URL("./beside.ts", import.meta.url))
  others.postMessage({ url: urlOf(port), key } satisfies Beside)
  const waited = new Promise<Waited>((done) => {
    others.onmessage = ({ data }: MessageEvent<Waited>) => done(data)
  })
  await work()
  others.postMessage("end")
  const found = await waited
  others.terminate()
  return found
}

const within = (times: readonly number[], part: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * part)] ?? 0
const waits = (times: readonly number[]): string =>
  [0.5, 0.99, 1].map((part) => within(times, part).toFixed(1)).join(" / ")

/** Runs a command to its end; says how long it took, and what it needed. */
async function timed(what: string, words: readonly string[]): Promise<void> {
  const began = performance.now()
  const child = Bun.spawn([binary, ...words], { env: {}, stdout: "pipe", stderr: "inherit" })
  const said = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error(`${words.join(" ")} failed:\n${said}`)
  const seconds = (performance.now() - began) / 1000
  const { maxRSS = 0, cpuTime } = child.resourceUsage() ?? {}
  const cpu = (Number(cpuTime?.total ?? 0) / 1e6).toFixed(1)
  const megabytes = (maxRSS / 1e6).toFixed(0)
  console.log(`${what}: ${seconds.toFixed(1)} s (${cpu} s of computing), at most ${megabytes} MB`)
}

const house = await filled()
const server = await start({ data, port: house.port })
const highest = () => /VmHWM:\s+(\d+ kB)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
const { pid } = server.process
try {
  console.log(`load of the machine before: ${loadavg()[0]?.toFixed(2)}`)
  rmSync(at("saved"), { force: true })
  const calm = await beside(house, () => sleep(calmMs))
  const before = highest()
  const busy = await beside(house, () => timed("backup", ["backup", at("saved"), "--data", data]))
  const bytes = (file: string) => `${(statSync(file).size / 1e6).toFixed(0)} MB`
  console.log(`of ${bytes(join(data, "latchkey.db"))}, in ${bytes(at("saved"))}`)
  for (const which of ["tokens", "watched"] as const) {
    const [one, other] = [calm[which], busy[which]]
    const cost = (within(other, 0.99) - within(one, 0.99)).toFixed(1)
    const what = which === "tokens" ? "a token" : "a liveness probe"
    console.log(
      `${what}, median / 99th percentile / worst: ${waits(one)} ms before, ` +
        `${waits(other)} ms meanwhile (cost ${cost} ms)`,
    )
  }
  console.log(`the server at its highest: ${before} before, ${highest()} after`)
  rmSync(at("restored"), { recursive: true, force: true })
  await timed("restore", ["restore", at("saved"), "--data", at("restored")])
  console.log(`load of the machine after: ${loadavg()[0]?.toFixed(2)}`)
} finally {
  await server.stop()
  rmSync(at("restored"), { recursive: true, force: true })
  folder.remove()
}
