// Measures the memory of a server under steady mixed load: `bun scripts/bench/soak.ts [--minutes N]
// [--rate CALLS] [--rest SECONDS] [--binary PATH]...`. Runs CALLS per second (default 25) of API
// calls, searches and tokens, every tenth with a sign-in, for N minutes (default 10), then pauses
// for SECONDS (default 90). Each binary has its own folder, and all get the same calls at the same
// time. Prints the memory every minute, and the failed calls.
import { mkdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { openClient } from "../../test/reliability/server-folder.ts"
import {
  binary,
  freePort,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import { createMix } from "./day/operations.ts"

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    rate: { type: "string", default: "25" },
    rest: { type: "string", default: "90" },
    binary: { type: "string", multiple: true, default: [binary] },
  },
})
const loadMs = Number(values.minutes) * 60_000
const [rate, restMs] = [Number(values.rate), Number(values.rest) * 1000]
const workers = 4

type ServerUnderTest = {
  readonly name: string
  readonly pid: number
  readonly call: (index: number) => Promise<unknown>
  readonly failures: Map<string, number>
  readonly stop: () => Promise<unknown>
}

const folder = temporaryFolder()
const servers: ServerUnderTest[] = []
try {
  for (const [index, program] of values.binary.entries())
    servers.push(await startServer(program, index))
  await runLoad()
} finally {
  await Promise.all(servers.map(({ stop }) => stop()))
  folder.remove()
}

async function startServer(program: string, index: number): Promise<ServerUnderTest> {
  const data = join(folder.path, `${index}`)
  mkdirSync(data, { mode: 0o700 })
  const port = await freePort()
  const key = await setUp(data, `http://localhost:${port}`, program)
  const { process, url, stop } = await startLatchkey({
    data,
    port,
    program,
    args: ["--limits", "off"],
  })
  const name = `${index + 1} ${basename(program)}`
  const call = await createMix(await openClient(url, key))
  return { name, pid: process.pid ?? 0, call, failures: new Map(), stop }
}

/** Each worker runs every nth call at its scheduled time, on all servers. */
async function runLoad(): Promise<void> {
  const startedAt = performance.now()
  const minute = () => (performance.now() - startedAt) / 60_000
  const total = (loadMs / 1000) * rate
  let done = 0
  const worker = async (first: number) => {
    for (let index = first; index < total; index += workers) {
      await sleep(Math.max(0, startedAt + (index / rate) * 1000 - performance.now()))
      if (performance.now() - startedAt > loadMs) return
      for (const { call, failures } of servers) {
        await call(index).catch((cause) => {
          const what = String(cause).slice(0, 120)
          failures.set(what, (failures.get(what) ?? 0) + 1)
        })
      }
      done++
    }
  }
  const print = (when: string) => {
    for (const { name, pid } of servers) {
      const { Rss, Pss, Private_Dirty } = memoryOf(pid)
      console.log(
        `${minute().toFixed(1).padStart(5)} min ${when.padEnd(5)} ${name}: ` +
          `RSS ${Rss} MB, Pss ${Pss} MB, private ${Private_Dirty} MB, ${done} calls`,
      )
    }
  }
  print("begin")
  const printTimer = setInterval(() => print("load"), 30_000)
  await Promise.all(Array.from({ length: workers }, (_, first) => worker(first)))
  clearInterval(printTimer)
  print("end")
  await sleep(restMs)
  print("rest")
  for (const { name, failures } of servers) {
    for (const [what, count] of failures) console.log(`${name}: ${count} × ${what}`)
  }
}

/** Memory in MB, from smaps_rollup. */
function memoryOf(pid: number) {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")
  const megabytes = (field: string) => {
    const kilobytes = Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0)
    return ((kilobytes * 1024) / 1e6).toFixed(1)
  }
  return {
    Rss: megabytes("Rss"),
    Pss: megabytes("Pss"),
    Private_Dirty: megabytes("Private_Dirty"),
  }
}
