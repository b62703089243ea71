import release from "@jitl/quickjs-wasmfile-release-sync"
import engineFile from "@jitl/quickjs-wasmfile-release-sync/wasm" with { type: "file" }
import { systemClock } from "../../../kernel/clock.ts"
import { systemRandom } from "../../../kernel/crypto/random.ts"
import { reasonText } from "../../../kernel/fault.ts"
import { stepBack } from "../../../runtime/thread.ts"
import { metered } from "./metered.ts"
import { type Engine, type Host, newEngine, newMemory } from "./sandbox.ts"
import { uuidOf } from "./uuid.ts"
import {
  forget,
  type Job,
  type LogLine,
  type Order,
  type Outcome,
  type Told,
  take,
} from "./wire.ts"

// Runs scripts, one after the other, each in an engine that is as it was made.
declare const self: Worker

// Those who sign in without a script go first.
stepBack(10)

const logsMax = 100
const textMax = 1000
const askMax = 1_000_000
/** What a script asks goes out to others: so many questions of one run are enough for anybody. */
const asksMax = 50
const numbersAtOnce = 100
const levels = ["log", "warn", "error"] as const

const tell = (told: Told) => self.postMessage(told)
const wasmModule = Bun.file(engineFile)
  .arrayBuffer()
  .then((bytes) => WebAssembly.compile(metered(new Uint8Array(bytes))))
type Warm = { readonly pagesMax: number; readonly engine: Promise<Engine> }
let warm: Warm | undefined

/** Where the last run has left no engine of that size, there is a new one. */
function warmFor(pagesMax: number): Warm {
  if (warm?.pagesMax === pagesMax) return warm
  const engineOf = (module: WebAssembly.Module) =>
    newEngine({ variant: release, wasmModule: module, memory: newMemory(pagesMax) })
  return { pagesMax, engine: wasmModule.then(engineOf) }
}

self.onmessage = async ({ data: { job, shared } }: MessageEvent<Order>) => {
  const used = warmFor(job.pagesMax)
  const engine = await used.engine
  const begun = engine.size()
  tell({ ended: run(engine, job, shared) })
  warm = engine.renew() ? used : undefined
  // What a script has filled is given back now, not some time.
  if (engine.size() > begun) Bun.gc(true)
  // The next run finds its engine there.
  warm = warmFor(job.pagesMax)
}

function run(engine: Engine, job: Job, shared: SharedArrayBuffer): Outcome {
  const logs: LogLine[] = []
  const begun = performance.now()
  const work = workOf()
  const leftMs = () => job.timeoutMs - (performance.now() - begun)
  const isOver = () => {
    if (leftMs() <= 0) return `the script took longer than ${job.timeoutMs / 1000} seconds`
    return work() > job.workMs ? `the script worked for more than ${job.workMs} ms` : undefined
  }
  let asks = 0
  const host: Host = (kind, json) => {
    if (kind === "log") return note(logs, json)
    if (kind === "uuid") return madeUuid(json)
    if (kind === "random") return madeNumbers()
    if (++asks > asksMax) throw new Error(`a run may ask for at most ${asksMax} things`)
    if (json.length > askMax) throw new Error(`a request may have at most ${askMax} characters`)
    forget(shared)
    tell({ ask: { kind, json } })
    const more = () => tell({ more: true })
    const answer = take(shared, { more, waitMs: Math.max(leftMs(), 0) })
    if (answer === undefined) throw new Error("nobody answered in time")
    return answer
  }
  const ran = engine.run(job, host, isOver)
  return { ...ran, logs, workedMs: work() }
}

/** The time that this thread has worked, in ms: a busy machine is no fault of the script. */
function workOf(): () => number {
  const now = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  const begun = now()
  return () => now() - begun
}

/** A script may have made anything of a line: what it holds stays for a while. */
function note(logs: LogLine[], json: string): string {
  const line: Readonly<Record<string, unknown>> = Object(JSON.parse(json))
  const level = levels.find((each) => each === line.level) ?? "log"
  const text = String(line.text).slice(0, textMax)
  if (logs.length < logsMax) logs.push({ level, text })
  else if (logs.length === logsMax) logs.push({ level: "warn", text: "more was left out" })
  return "null"
}

/** Numbers from 0 to 1, as fine as numbers are. */
function madeNumbers(): string {
  const parts = new BigUint64Array(systemRandom.bytes(8 * numbersAtOnce).slice().buffer)
  return JSON.stringify(Array.from(parts, (part) => Number(part >> 11n) / 2 ** 53))
}

function madeUuid(json: string): string {
  const { version, values } = JSON.parse(json)
  try {
    const parts = { random: systemRandom, now: systemClock.now }
    return JSON.stringify({ uuid: uuidOf(parts, version, values) })
  } catch (cause) {
    return JSON.stringify({ error: reasonText(cause) })
  }
}
