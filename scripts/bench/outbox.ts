// What messages that wait for a provider cost a server that starts:
// `bun scripts/bench/outbox.ts [MESSAGES]`. Each figure is the median of five starts. Writes a
// temporary folder; needs the binary.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { message } from "../../src/domain/message/index.ts"
import type { Transaction } from "../../src/store/index.ts"
import { openDatabase } from "../../test/reliability/audit.ts"
import { freePort, setUp, start, temporaryFolder } from "../../test/support/latchkey.ts"
import { fillingCx, orgIdOf, populate, userIdOf } from "./population.ts"

const [messages = 100_000] = process.argv.slice(2).map(Number)
const people = 1000
const batch = 500
const settledMs = 3000

const folder = temporaryFolder()
const data = join(folder.path, "data")
const file = join(data, "latchkey.db")
const port = await freePort()

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

function add(tx: Transaction, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    const userId = userIdOf(at % people)
    const cause = { kind: "verify_email", channel: "email", userId, urlTemplate: "" } as const
    const secret = { to: `person-${at % people}@example.com` }
    const data = { ...cause, codeExpires: tx.now + 3_600_000 }
    const events = [{ type: "message.added", data, private: secret }] as const
    tx.append(message, `m${at}`, events, orgIdOf(0))
  }
}

async function fill(): Promise<void> {
  const store = openDatabase(file)
  const cx = fillingCx(store)
  for (let from = 0; from < messages; from += batch) {
    await store.transact(cx, (tx) => add(tx, from, Math.min(messages, from + batch)))
  }
  await store.close()
}

/** Processor time (ms) and memory (MB) of a process, as Linux counts them. */
function spent(pid: number | undefined) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  const cpu = (Number(stat[11]) + Number(stat[12])) * 10
  return { cpu, memory: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 976.6 }
}

async function once() {
  const began = performance.now()
  const server = await start({ data, port })
  const ready = performance.now() - began
  await sleep(settledMs)
  const { cpu, memory } = spent(server.process.pid)
  await server.stop()
  return { ready, cpu, memory }
}

async function measured(what: string): Promise<void> {
  const runs: Awaited<ReturnType<typeof once>>[] = []
  for (let run = 0; run < 5; run++) runs.push(await once())
  const median = (of: "ready" | "cpu" | "memory") =>
    Math.round(runs.map((run) => run[of]).toSorted((a, b) => a - b)[2] ?? 0)
  const figures = `ready ${median("ready")} ms, CPU ${median("cpu")} ms, ${median("memory")} MB`
  process.stdout.write(`${what}: ${figures}\n`)
}

try {
  await setUp(data, `http://localhost:${port}`)
  await populate(file, people, 1)
  await once()
  await measured("no messages")
  await fill()
  // What was written is looked at once, as it would have been while it was written.
  const server = await start({ data, port })
  let [before, quiet] = [0, 0]
  while (quiet < 5) {
    await sleep(1000)
    const { cpu } = spent(server.process.pid)
    quiet = cpu - before > 50 ? 0 : quiet + 1
    before = cpu
  }
  process.stdout.write(`to look at them once: CPU ${before} ms\n`)
  await server.stop()
  await measured(`${messages} messages that wait`)
} finally {
  folder.remove()
}
