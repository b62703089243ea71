import release from "@jitl/quickjs-wasmfile-release-sync"
import engineFile from "@jitl/quickjs-wasmfile-release-sync/wasm" with { type: "file" }
import { systemClock } from "../../../kernel/clock.ts"
import { systemRandom } from "../../../kernel/crypto/random.ts"
import { errorText } from "../../../kernel/fault.ts"
import { lowerThreadPriority } from "../../../runtime/thread.ts"
import { withLoopLimit } from "./loop-limit.ts"
import {
  discardResponse,
  type LogLine,
  type Outcome,
  type RunMessage,
  readResponse,
  type ScriptJob,
  type ThreadMessage,
} from "./messages.ts"
import { createEngine, createMemory, type Engine, type Host } from "./sandbox.ts"
import { createUuidOf } from "./uuid.ts"

// Runs scripts one after another, each in an engine in its initial state.
declare const self: Worker

// Lowers the priority so that sign-ins without a script are not delayed.
lowerThreadPriority(10)

const logsMax = 100
const textMax = 1000
const requestCharactersMax = 1_000_000
/** The maximum number of requests of one run, because they can lead to outside calls. */
const requestsMax = 50
const numbersAtOnce = 100
const levels = ["log", "warn", "error"] as const

const send = (message: ThreadMessage) => self.postMessage(message)
const wasmModule = Bun.file(engineFile)
  .arrayBuffer()
  .then((bytes) => WebAssembly.compile(withLoopLimit(new Uint8Array(bytes))))
type PreparedEngine = { readonly pagesMax: number; readonly engine: Promise<Engine> }
let preparedEngine: PreparedEngine | undefined

/** Creates an engine if the last run left none with that memory limit. */
function prepareEngine(pagesMax: number): PreparedEngine {
  if (preparedEngine?.pagesMax === pagesMax) return preparedEngine
  const engineOf = (module: WebAssembly.Module) =>
    createEngine({ variant: release, wasmModule: module, memory: createMemory(pagesMax) })
  return { pagesMax, engine: wasmModule.then(engineOf) }
}

self.onmessage = async ({ data: { job, shared } }: MessageEvent<RunMessage>) => {
  const used = prepareEngine(job.pagesMax)
  const engine = await used.engine
  const started = engine.size()
  send({ ended: runJob(engine, job, shared) })
  preparedEngine = engine.renew() ? used : undefined
  // Releases the memory of the script immediately.
  if (engine.size() > started) Bun.gc(true)
  // Prepares the engine for the next run.
  preparedEngine = prepareEngine(job.pagesMax)
}

function runJob(engine: Engine, job: ScriptJob, shared: SharedArrayBuffer): Outcome {
  const logs: LogLine[] = []
  const started = performance.now()
  const work = createCpuTimer()
  const leftMs = () => job.timeoutMs - (performance.now() - started)
  const isOver = () => {
    if (leftMs() <= 0) return `the script took longer than ${job.timeoutMs / 1000} seconds`
    return work() > job.workMs
      ? `the script used more than ${job.workMs} ms of CPU time`
      : undefined
  }
  let asks = 0
  const host: Host = (kind, json) => {
    if (kind === "log") return addLogLine(logs, json)
    if (kind === "uuid") return createUuid(json)
    if (kind === "random") return createRandomNumbers()
    if (++asks > requestsMax) throw new Error(`a run can make at most ${requestsMax} requests`)
    if (json.length > requestCharactersMax)
      throw new Error(`a request must have at most ${requestCharactersMax} characters`)
    discardResponse(shared)
    send({ ask: { kind, json } })
    const more = () => send({ more: true })
    const answer = readResponse(shared, { more, waitMs: Math.max(leftMs(), 0) })
    if (answer === undefined) throw new Error("no response in time")
    return answer
  }
  const ran = engine.run(job, host, isOver)
  return { ...ran, logs, workedMs: work() }
}

/**
 * Returns a function for the CPU time of this thread in ms, so that a busy machine does not stop
 * scripts.
 */
function createCpuTimer(): () => number {
  const now = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  const started = now()
  return () => now() - started
}

/** The log line comes from the script and is stored for a while, so it is validated. */
function addLogLine(logs: LogLine[], json: string): string {
  const line: Readonly<Record<string, unknown>> = Object(JSON.parse(json))
  const level = levels.find((each) => each === line.level) ?? "log"
  const text = String(line.text).slice(0, textMax)
  if (logs.length < logsMax) logs.push({ level, text })
  else if (logs.length === logsMax) logs.push({ level: "warn", text: "further lines were omitted" })
  return "null"
}

/** Random numbers from 0 to 1 with full precision. */
function createRandomNumbers(): string {
  const parts = new BigUint64Array(systemRandom.bytes(8 * numbersAtOnce).slice().buffer)
  return JSON.stringify(Array.from(parts, (part) => Number(part >> 11n) / 2 ** 53))
}

function createUuid(json: string): string {
  const { version, values } = JSON.parse(json)
  try {
    const parts = { random: systemRandom, now: systemClock.now }
    return JSON.stringify({ uuid: createUuidOf(parts, version, values) })
  } catch (cause) {
    return JSON.stringify({ error: errorText(cause) })
  }
}
