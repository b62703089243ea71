import { closeSync, existsSync, openSync, readSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { systemClock } from "../../kernel/clock.ts"
import { type Code, Fault } from "../../kernel/fault.ts"
import { ownPart } from "../../runtime/program.ts"
import type { File } from "./file.ts"
import { decodeInTurn } from "./lane.ts"
import { type Picture, unreadableError } from "./picture/decode.ts"
import {
  memoryError,
  pictureWord,
  refusedCode,
  tooCostlyError,
  wordsFor,
} from "./picture/process.ts"

/** What a picture may cost. The largest of 16 million pixels takes a fifth of the time. */
const usual: Budget = { workMs: 4_000, memoryMax: 256 * 1024 * 1024, waitMs: 30_000 }

/** Time that a process computes, bytes that it has at once, and time until it must have ended. */
type Budget = { readonly workMs: number; readonly memoryMax: number; readonly waitMs: number }

const lookMs = 10

/**
 * Reads a picture and writes it anew, as `decodePicture` does, in a process of its own: a thread
 * can't be terminated while it runs the native code of a decoder. A process can, and its memory is
 * its own.
 */
export const pictureApart = (
  bytes: Uint8Array<ArrayBuffer>,
  picture: Picture,
  line: string,
  budget = usual,
): Promise<File> => decodeInTurn(() => inProcess(bytes, picture, budget), { line })

async function inProcess(
  bytes: Uint8Array<ArrayBuffer>,
  picture: Picture,
  budget: Budget,
): Promise<File> {
  const entry = () => fileURLToPath(new URL("./picture-worker.ts", import.meta.url))
  const child = Bun.spawn([...ownPart(pictureWord, entry), ...wordsFor(picture, budget)], {
    stdin: bytes,
    stdout: "pipe",
    stderr: "ignore",
    // What a crash of a decoder could tell stays here.
    env: { BUN_ENABLE_CRASH_REPORTING: "0" },
  })
  let exceeded: Fault | undefined
  const begun = performance.now()
  const cost = costMeter(child.pid)
  const look = () => {
    exceeded = excessOf({ ...cost.now(), waitedMs: performance.now() - begun }, budget)
    if (exceeded) child.kill("SIGKILL")
    else timer = systemClock.after(lookMs, look)
  }
  let timer = systemClock.after(lookMs, look)
  try {
    const [written, code] = await Promise.all([new Response(child.stdout).bytes(), child.exited])
    if (exceeded) throw exceeded
    if (code === 0) return { type: picture.as, bytes: new Uint8Array(written) }
    throw code === refusedCode ? refusalIn(written) : unreadableError()
  } finally {
    timer.stop()
    cost.close()
  }
}

type Cost = { readonly workMs?: number; readonly memory?: number; readonly waitedMs?: number }

function excessOf(
  { workMs = 0, memory = 0, waitedMs = 0 }: Cost,
  budget: Budget,
): Fault | undefined {
  const { memoryMax, waitMs } = budget
  if (memory > memoryMax) return memoryError(memoryMax)
  if (workMs > budget.workMs) return tooCostlyError(`longer than ${budget.workMs / 1000} seconds`)
  return waitedMs > waitMs ? tooCostlyError(`longer than ${waitMs / 1000} seconds`) : undefined
}

/** proc(5): clock ticks are a hundredth of a second everywhere on Linux, pages are 4 kB or more. */
const [tickMs, pageBytes] = [10, 4096]

type CostMeter = {
  /** What the process has cost; nothing once it has ended, or where the system doesn't say. */
  readonly now: () => Cost
  readonly close: () => void
}

const statBytes = 4096

/** Opened once: where descriptors run out, none could be had to look with. */
export function costMeter(pid: number): CostMeter {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return { now: () => ({}), close: () => undefined }
  const descriptor = openSync(file, "r")
  return { now: () => costIn(statOf(descriptor)), close: () => closeSync(descriptor) }
}

function statOf(descriptor: number): string {
  const text = Buffer.alloc(statBytes)
  try {
    return text.toString("latin1", 0, readSync(descriptor, text, 0, statBytes, 0))
  } catch (cause) {
    if (Object(cause).code === "ESRCH") return ""
    throw cause
  }
}

function costIn(stat: string): Cost {
  if (stat === "") return {}
  // The name of the program stands in brackets, and may have any characters.
  const fields = stat.split(") ").at(-1)?.split(" ") ?? []
  const [user, system, pages] = [fields[11], fields[12], fields[21]]
  return { workMs: (Number(user) + Number(system)) * tickMs, memory: Number(pages) * pageBytes }
}

function refusalIn(written: Uint8Array): Fault {
  const refusal: { readonly code: Code; readonly id: string; readonly message: string } =
    JSON.parse(Buffer.from(written).toString())
  return new Fault(refusal.code, refusal.id, refusal.message)
}
