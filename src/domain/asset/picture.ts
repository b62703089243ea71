import { closeSync, existsSync, openSync, readSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { systemClock } from "../../kernel/clock.ts"
import { type Code, Fault } from "../../kernel/fault.ts"
import { subprocessCommand } from "../../runtime/program.ts"
import { decodeQueue } from "./decode-queue.ts"
import type { AssetFile } from "./file.ts"
import { type PictureFormat, unreadableError } from "./picture/decode.ts"
import {
  argumentsFor,
  memoryError,
  pictureCommand,
  rejectedExitCode,
  tooCostlyError,
} from "./picture/process.ts"

/**
 * The limits for decoding a picture. The largest one with 16 million pixels needs a fifth of the
 * time.
 */
const defaultBudget: Budget = { workMs: 4_000, memoryMax: 256 * 1024 * 1024, waitMs: 30_000 }

/** CPU time, memory in bytes, and time until the process must have ended. */
type Budget = { readonly workMs: number; readonly memoryMax: number; readonly waitMs: number }

const pollMs = 10

/**
 * Decodes and re-encodes a picture like `decodePicture`, in a separate process: a thread can't be
 * terminated while a decoder runs native code, and a process has its own memory.
 */
export const decodeInProcess = (
  bytes: Uint8Array<ArrayBuffer>,
  picture: PictureFormat,
  queue: string,
  budget = defaultBudget,
): Promise<AssetFile> => decodeQueue(() => runProcess(bytes, picture, budget), { line: queue })

async function runProcess(
  bytes: Uint8Array<ArrayBuffer>,
  picture: PictureFormat,
  budget: Budget,
): Promise<AssetFile> {
  const entry = () => fileURLToPath(new URL("./picture-worker.ts", import.meta.url))
  const child = Bun.spawn(
    [...subprocessCommand(pictureCommand, entry), ...argumentsFor(picture, budget)],
    {
      stdin: bytes,
      stdout: "pipe",
      stderr: "ignore",
      // Crash reports of a decoder could contain the picture.
      env: { BUN_ENABLE_CRASH_REPORTING: "0" },
    },
  )
  let exceeded: Fault | undefined
  const started = performance.now()
  const cost = openUsageMeter(child.pid)
  const checkUsage = () => {
    exceeded = exceededLimitOf({ ...cost.now(), waitedMs: performance.now() - started }, budget)
    if (exceeded) child.kill("SIGKILL")
    else timer = systemClock.after(pollMs, checkUsage)
  }
  let timer = systemClock.after(pollMs, checkUsage)
  try {
    const [written, code] = await Promise.all([new Response(child.stdout).bytes(), child.exited])
    if (exceeded) throw exceeded
    if (code === 0) return { type: picture.as, bytes: new Uint8Array(written) }
    throw code === rejectedExitCode ? parseFault(written) : unreadableError()
  } finally {
    timer.stop()
    cost.close()
  }
}

type ResourceUsage = {
  readonly workMs?: number
  readonly memory?: number
  readonly waitedMs?: number
}

function exceededLimitOf(
  { workMs = 0, memory = 0, waitedMs = 0 }: ResourceUsage,
  budget: Budget,
): Fault | undefined {
  const { memoryMax, waitMs } = budget
  if (memory > memoryMax) return memoryError(memoryMax)
  if (workMs > budget.workMs) return tooCostlyError(`longer than ${budget.workMs / 1000} seconds`)
  return waitedMs > waitMs ? tooCostlyError(`longer than ${waitMs / 1000} seconds`) : undefined
}

/** proc(5): a clock tick is 10 ms on all Linux systems; pages have at least 4 kB. */
const [tickMs, pageBytes] = [10, 4096]

type UsageMeter = {
  /**
   * The resources used by the process; empty after its end, or if the system does not report them.
   */
  readonly now: () => ResourceUsage
  readonly close: () => void
}

const statBytes = 4096

/** Opened once, because it could not be opened again once no descriptors are left. */
export function openUsageMeter(pid: number): UsageMeter {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return { now: () => ({}), close: () => undefined }
  const descriptor = openSync(file, "r")
  return { now: () => parseCost(readStat(descriptor)), close: () => closeSync(descriptor) }
}

function readStat(descriptor: number): string {
  const text = Buffer.alloc(statBytes)
  try {
    return text.toString("latin1", 0, readSync(descriptor, text, 0, statBytes, 0))
  } catch (cause) {
    if (Object(cause).code === "ESRCH") return ""
    throw cause
  }
}

function parseCost(stat: string): ResourceUsage {
  if (stat === "") return {}
  // The program name is in parentheses and can contain any characters.
  const fields = stat.split(") ").at(-1)?.split(" ") ?? []
  const [user, system, pages] = [fields[11], fields[12], fields[21]]
  return { workMs: (Number(user) + Number(system)) * tickMs, memory: Number(pages) * pageBytes }
}

function parseFault(written: Uint8Array): Fault {
  const refusal: { readonly code: Code; readonly id: string; readonly message: string } =
    JSON.parse(Buffer.from(written).toString())
  return new Fault(refusal.code, refusal.id, refusal.message)
}
