// The memory of a server under steady mixed load: `bun scripts/bench/soak.ts [--minutes N]
// [--rate CALLS] [--rest SECONDS] [--binary PATH]...`. CALLS a second (default 25) are API calls,
// searches and tokens, every tenth with a sign-in, for N minutes (default 10); then nobody asks
// anything for SECONDS (default 90). Each binary has a folder of its own, and all get the same
// calls at the same time. Prints the memory each minute and the calls that failed.
import { mkdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { openClient } from "../../test/reliability/house.ts"
import { binary, freePort, setUp, start, temporaryFolder } from "../../test/support/latchkey.ts"
import { mixOf } from "./day/operations.ts"

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

type Side = {
  readonly name: string
  readonly pid: number
  readonly call: (at: number) => Promise<unknown>
  readonly failures: Map<string, number>
  readonly stop: () => Promise<unknown>
}

const folder = temporaryFolder()
const sides: Side[] = []
try {
  for (const [at, program] of values.binary.entries()) sides.push(await open(program, at))
  await soak()
} finally {
  await Promise.all(sides.map(({ stop }) => stop()))
  folder.remove()
}

async function open(program: string, at: number): Promise<Side> {
  const data = join(folder.path, `${at}`)
  mkdirSync(data, { mode: 0o700 })
  const port = await freePort()
  const key = await setUp(data, `http://localhost:${port}`, program)
  const { process, url, stop } = await start({ data, port, program, args: ["--limits", "off"] })
  const name = `${at + 1} ${basename(program)}`
  const call = await mixOf(await openClient(url, key))
  return { name, pid: process.pid ?? 0, call, failures: new Map(), stop }
}

/** Each worker does every so manyth call when it is due, on all sides. */
async function soak(): Promise<void> {
  const began = performance.now()
  const minute = () => (performance.now() - began) / 60_000
  const total = (loadMs / 1000) * rate
  let done = 0
  const worker = async (first: number) => {
    for (let at = first; at < total; at += workers) {
      await sleep(Math.max(0, began + (at / rate) * 1000 - performance.now()))
      if (performance.now() - began > loadMs) return
      for (const { call, failures } of sides) {
        await call(at).catch((cause) => {
          const what = String(cause).slice(0, 120)
          failures.set(what, (failures.get(what) ?? 0) + 1)
        })
      }
      done++
    }
  }
  const print = (when: string) => {
    for (const { name, pid } of sides) {
      const { Rss, Pss, Private_Dirty } = memoryOf(pid)
      console.log(
        `${minute().toFixed(1).padStart(5)} min ${when.padEnd(5)} ${name}: ` +
          `RSS ${Rss} MB, Pss ${Pss} MB, private ${Private_Dirty} MB, ${done} calls`,
      )
    }
  }
  print("begin")
  const printing = setInterval(() => print("load"), 30_000)
  await Promise.all(Array.from({ length: workers }, (_, first) => worker(first)))
  clearInterval(printing)
  print("end")
  await sleep(restMs)
  print("rest")
  for (const { name, failures } of sides) {
    for (const [what, count] of failures) console.log(`${name}: ${count} × ${what}`)
  }
}

/** Of smaps_rollup, in MB. */
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
