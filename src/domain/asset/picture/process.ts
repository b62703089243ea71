import { existsSync, readFileSync } from "node:fs"
import { Fault } from "../../../kernel/fault.ts"
import { stepBack } from "../../../runtime/thread.ts"
import { decodePicture, type Picture } from "./decode.ts"

/** What this program is started with to read one picture: by another one of its kind. */
export const pictureWord = "__picture"

/** How a process ends that has refused a picture; what it has written says why. */
export const refusedCode = 3

/** What it is started with behind that word. */
export const wordsFor = (
  { side, as }: Picture,
  { memoryMax }: { readonly memoryMax: number },
): readonly string[] => [`${side}`, as, `${memoryMax}`]

/** Reads the picture that stands in the standard input, writes it anew to the output, and ends. */
export async function runPictureProcess(words: readonly string[]): Promise<never> {
  const [side, as, memoryMax] = words
  // Those who sign in come first.
  stepBack(10)
  const given = new Uint8Array(await Bun.stdin.arrayBuffer())
  const picture = { side: Number(side), as: as === "webp" ? "webp" : "png" } as const
  try {
    const written = await decodePicture(given, picture)
    // Whoever has started this looks at it now and then, and may have missed the most of it.
    if (memoryPeak() > Number(memoryMax)) throw memoryError(Number(memoryMax))
    await Bun.write(Bun.stdout, written)
    process.exit(0)
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    const { code, id, message } = cause
    await Bun.write(Bun.stdout, JSON.stringify({ code, id, message }))
    process.exit(refusedCode)
  }
}

/** proc(5): the most memory that this process has had, in bytes; 0 where the system doesn't say. */
function memoryPeak(): number {
  if (!existsSync("/proc/self/status")) return 0
  const [, kilobytes = 0] =
    /^VmHWM:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8")) ?? []
  return Number(kilobytes) * 1024
}

/** For a picture that takes more memory than it may. */
export const memoryError = (memoryMax: number): Fault =>
  tooCostlyError(`more than ${memoryMax / 1024 / 1024} MB of memory`)

export const tooCostlyError = (cost: string): Fault =>
  new Fault(
    "invalid_argument",
    "asset.too_costly",
    `the picture takes ${cost} to read; save it again as a plain PNG or JPEG`,
  )
