// Measures the memory of a server over a simulated day of light use: `bun scripts/bench/day.ts
// [--minutes N] [--rest SECONDS] [--binary PATH]... [--svg FILE]`. Opens the console, signs in 50
// users, and makes 500 API calls and searches, evenly spread over N minutes (default 20), then
// pauses for SECONDS (default 90). Each binary has its own folder, and all get the same requests at
// the same time, to be compared under the same load.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
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
import { graphOf } from "./day/graph.ts"
import { listDayOperations, type Operation } from "./day/operations.ts"

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "20" },
    rest: { type: "string", default: "90" },
    binary: { type: "string", multiple: true, default: [binary] },
    svg: { type: "string" },
  },
})
const dayMs = Number(values.minutes) * 60_000
const restMs = Number(values.rest) * 1000
const sampleMs = Math.min(5000, Math.max(1000, dayMs / 120))

/** One reading of smaps_rollup, in kB, with its time in minutes since the start. */
type Sample = Readonly<Record<(typeof fields)[number], number>> & { readonly minute: number }
const fields = ["Rss", "Pss", "Private_Dirty", "Anonymous", "Pss_File"] as const

type ServerUnderTest = {
  readonly name: string
  readonly pid: number
  readonly operations: readonly Operation[]
  readonly samples: Sample[]
  readonly started: Sample
  readonly stop: () => Promise<unknown>
}

const folder = temporaryFolder()
const servers: ServerUnderTest[] = []
try {
  for (const [index, program] of values.binary.entries())
    servers.push(await startServer(program, index))
  await runDay(servers)
  for (const side of servers) report(side)
  if (values.svg !== undefined) writeFileSync(values.svg, drawGraph(servers))
} finally {
  await Promise.all(servers.map(({ stop }) => stop()))
  folder.remove()
}

async function startServer(program: string, index: number): Promise<ServerUnderTest> {
  const data = join(folder.path, `${index}`)
  mkdirSync(data, { mode: 0o700 })
  const port = await freePort()
  const key = await setUp(data, `http://localhost:${port}`, program)
  const server = await startLatchkey({ data, port, program, args: ["--limits", "off"] })
  const pid = server.process.pid ?? 0
  const { stop } = server
  try {
    await sleep(1000)
    const started = takeSample(pid, 0)
    const operations = await listDayOperations(await openClient(server.url, key))
    const name = values.binary.length === 1 ? "latchkey" : `${index + 1} ${basename(program)}`
    return { name, pid, operations, samples: [], started, stop }
  } catch (cause) {
    await stop()
    throw cause
  }
}

/** Runs each operation at its scheduled time, on one server after the other. */
async function runDay(targets: readonly ServerUnderTest[]): Promise<void> {
  const began = performance.now()
  const sample = () => {
    const minute = (performance.now() - began) / 60_000
    for (const { samples, pid } of targets) samples.push(takeSample(pid, minute))
  }
  sample()
  const sampling = setInterval(sample, sampleMs)
  try {
    const count = targets[0]?.operations.length ?? 0
    for (let index = 0; index < count; index++) {
      const due = began + (index / count) * dayMs
      await sleep(Math.max(0, due - performance.now()))
      for (const { operations } of targets) await operations[index]?.()
    }
    await sleep(Math.max(0, began + dayMs - performance.now()))
    await sleep(restMs)
    sample()
  } finally {
    clearInterval(sampling)
  }
}

function takeSample(pid: number, minute: number): Sample {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")
  const kilobytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0)
  const [Rss = 0, Pss = 0, Private_Dirty = 0, Anonymous = 0, Pss_File = 0] = fields.map(kilobytes)
  return { Rss, Pss, Private_Dirty, Anonymous, Pss_File, minute }
}

function report({ name, pid, samples, started }: ServerUnderTest): void {
  const dayMinutes = dayMs / 60_000
  const working = samples.filter(({ minute }) => minute <= dayMinutes)
  const minuteLater = samples.findLast(({ minute }) => minute <= dayMinutes + 1)
  const rows = [
    ["after the start", started],
    ["peak of the day", working.toSorted((one, other) => other.Rss - one.Rss)[0]],
    ["end of the day", working.at(-1)],
    ["after a minute of rest", minuteLater],
    ["at the end", samples.at(-1)],
  ] as const
  console.log(`\n${name}`)
  console.log(`${"MB".padEnd(24)}${fields.map((field) => field.padStart(15)).join("")}`)
  for (const [what, sample] of rows) {
    if (sample === undefined) continue
    const cells = fields.map((field) => megabytes(sample[field]).padStart(15))
    console.log(`${what.padEnd(24)}${cells.join("")}`)
  }
  console.log(`resident by mapping: ${formatMappings(pid)}`)
}

/** Resident MB of the binary's own segments, of anonymous memory, and of other files. */
function formatMappings(pid: number): string {
  const sums = new Map<string, number>()
  let name = ""
  for (const line of readFileSync(`/proc/${pid}/smaps`, "utf8").split("\n")) {
    const head = /^[0-9a-f]+-[0-9a-f]+ (\S{4}) \S+ \S+ \d+ *(.*)$/.exec(line)
    if (head) name = mappingKindOf(head[1] ?? "", head[2] ?? "")
    const resident = /^Rss:\s+(\d+)/.exec(line)?.[1]
    if (resident) sums.set(name, (sums.get(name) ?? 0) + Number(resident))
  }
  return [...sums]
    .toSorted(([, one], [, other]) => other - one)
    .map(([kind, kilobytes]) => `${kind} ${megabytes(kilobytes)}`)
    .join(", ")
}

function mappingKindOf(rights: string, file: string): string {
  if (file.startsWith("/")) {
    const isProgram = values.binary.some((program) => file.endsWith(basename(program)))
    if (!isProgram) return "other files"
    if (rights.includes("x")) return "runtime code"
    return rights.includes("w") ? "Latchkey code and data" : "runtime constants"
  }
  return rights.includes("x") ? "compiled code" : "anonymous"
}

function drawGraph(targets: readonly ServerUnderTest[]): string {
  const lines = targets.flatMap(({ name, samples }) =>
    (["Rss", "Pss"] as const).map((field) => ({
      name: `${name}: ${field}`,
      points: samples.map((each) => [each.minute, (each[field] * 1024) / 1e6]),
    })),
  )
  return graphOf(lines, "Memory over a day of light use", dayMs / 60_000)
}

function megabytes(kilobytes: number): string {
  return ((kilobytes * 1024) / 1e6).toFixed(1)
}
