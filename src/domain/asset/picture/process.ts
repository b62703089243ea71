import { existsSync, readFileSync } from "node:fs"
import { Fault } from "../../../kernel/fault.ts"
import { lowerThreadPriority } from "../../../runtime/thread.ts"
import { decodePicture, type PictureFormat } from "./decode.ts"

/**
 * The argument that starts this program to decode one picture; only another Latchkey process uses
 * it.
 */
export const pictureCommand = "__picture"

/** The exit code of a process that rejected a picture and wrote the reason. */
export const rejectedExitCode = 3

/** The arguments after that command. */
export const argumentsFor = (
  { side, as }: PictureFormat,
  { memoryMax }: { readonly memoryMax: number },
): readonly string[] => [`${side}`, as, `${memoryMax}`]

/**
 * Reads the picture from standard input, writes the re-encoded picture to standard output, and
 * exits.
 */
export async function runPictureProcess(text: readonly string[]): Promise<never> {
  const [side, as, memoryMax] = text
  // Lowers the priority so that sign-ins are not delayed.
  lowerThreadPriority(10)
  const fields = new Uint8Array(await Bun.stdin.arrayBuffer())
  const picture = { side: Number(side), as: as === "webp" ? "webp" : "png" } as const
  try {
    const written = await decodePicture(fields, picture)
    // The parent process only samples the memory and can miss its peak.
    if (memoryPeak() > Number(memoryMax)) throw memoryError(Number(memoryMax))
    await Bun.write(Bun.stdout, written)
    process.exit(0)
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    const { code, id, message } = cause
    await Bun.write(Bun.stdout, JSON.stringify({ code, id, message }))
    process.exit(rejectedExitCode)
  }
}

/** proc(5): the peak memory of this process in bytes; 0 if the system does not report it. */
function memoryPeak(): number {
  if (!existsSync("/proc/self/status")) return 0
  const [, kilobytes = 0] =
    /^VmHWM:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8")) ?? []
  return Number(kilobytes) * 1024
}

/** A picture that needs too much memory. */
export const memoryError = (memoryMax: number): Fault =>
  tooCostlyError(`more than ${memoryMax / 1024 / 1024} MB of memory`)

export const tooCostlyError = (cost: string): Fault =>
  new Fault(
    "invalid_argument",
    "asset.too_costly",
    `decoding the picture takes ${cost}; save it as a plain PNG or JPEG`,
  )
