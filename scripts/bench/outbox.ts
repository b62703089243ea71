// Measures how pending messages in the outbox slow down a start: `bun scripts/bench/outbox.ts
// [MESSAGES]`. Each figure is the median of five starts. Writes a temporary folder; needs the
// binary.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { message } from "../../src/domain/message/index.ts"
import type { Transaction } from "../../src/store/index.ts"
import { openDatabase } from "../../test/reliability/audit.ts"
import { freePort, setUp, startLatchkey, temporaryFolder } from "../../test/support/latchkey.ts"
import { createStoreCx, orgIdOf, populate, userIdOf } from "./population.ts"

const [messages = 100_000] = process.argv.slice(2).map(Number)
const userCount = 1000
const batch = 500
const idleMs = 3000

const folder = temporaryFolder()
const data = join(folder.path, "data")
const file = join(data, "latchkey.db")
const port = await freePort()

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

function addMessages(tx: Transaction, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    const userId = userIdOf(at % userCount)
    const cause = { kind: "verify_email", channel: "email", userId, urlTemplate: "" } as const
    const secret = { to: `person-${at % userCount}@example.com` }
    const data = { ...cause, codeExpires: tx.now + 3_600_000 }
    const events = [{ type: "message.added", data, private: secret }] as const
    tx.append(message, `m${at}`, events, orgIdOf(0))
  }
}

async function fillOutbox(): Promise<void> {
  const store = openDatabase(file)
  const cx = createStoreCx(store)
  for (let from = 0; from < messages; from += batch) {
    await store.transact(cx, (tx) => addMessages(tx, from, Math.min(messages, from + batch)))
  }
  await store.close()
}

/** CPU time in ms and memory in MB of a process, from /proc. */
function resourceUsage(pid: number | undefined) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  const cpu = (Number(stat[11]) + Number(stat[12])) * 10
  return { cpu, memory: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 976.6 }
}

async function measureStart() {
  const startedAt = performance.now()
  const server = await startLatchkey({ data, port })
  const ready = performance.now() - startedAt
  await sleep(idleMs)
  const { cpu, memory } = resourceUsage(server.process.pid)
  await server.stop()
  return { ready, cpu, memory }
}

async function measureStarts(label: string): Promise<void> {
  const runs: Awaited<ReturnType<typeof measureStart>>[] = []
  for (let run = 0; run < 5; run++) runs.push(await measureStart())
  const median = (of: "ready" | "cpu" | "memory") =>
    Math.round(runs.map((run) => run[of]).toSorted((a, b) => a - b)[2] ?? 0)
  const figures = `ready ${median("ready")} ms, CPU ${median("cpu")} ms, ${median("memory")} MB`
  process.stdout.write(`${label}: ${figures}\n`)
}

try {
  await setUp(data, `http://localhost:${port}`)
  await populate(file, userCount, 1)
  await measureStart()
  await measureStarts("no messages")
  await fillOutbox()
  // The first start processes the new messages once, as a running server would have done.
  const server = await startLatchkey({ data, port })
  let [before, idleCpu] = [0, 0]
  while (idleCpu < 5) {
    await sleep(1000)
    const { cpu } = resourceUsage(server.process.pid)
    idleCpu = cpu - before > 50 ? 0 : idleCpu + 1
    before = cpu
  }
  process.stdout.write(`processing them once: CPU ${before} ms\n`)
  await server.stop()
  await measureStarts(`${messages} pending messages`)
} finally {
  folder.remove()
}
