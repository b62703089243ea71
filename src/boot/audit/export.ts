import { type FileHandle, open } from "node:fs/promises"
import { pause } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import { startError, systemCode, systemReasons } from "../start-error.ts"
import type { ExportAsked, ExportPart } from "./part.ts"

type Wish = {
  readonly asked: Pick<ExportAsked, "instance" | "after">
  readonly follows: boolean
  /** Answers a part, from the server that runs. */
  readonly tell: (asked: ExportAsked) => Promise<ExportPart>
  /** How long it waits where nothing has happened. */
  readonly pollMs?: number
}

/**
 * Writes events behind those that a file has, each part with its seal, and has it on disk before it
 * asks for the next: the file itself is the position. What stands behind the last seal, of a
 * process that was killed, is written anew.
 */
export async function exportEvents(
  path: string,
  { asked, follows, tell, pollMs = 500 }: Wish,
): Promise<{ readonly lines: number }> {
  const file = await fileAt(path)
  try {
    let { seal, size } = await standingOf(file, path)
    if (seal !== undefined && asked.after !== undefined) throw begunError(path)
    let written = 0
    for (;;) {
      const { instance, after } = asked
      const part = await answered(
        () => tell(seal === undefined ? { instance, after } : { instance, seal }),
        follows ? pollMs : undefined,
      )
      if ((await file.stat()).size !== size) throw sharedError(path)
      if (part.lines.length > 0) {
        const bytes = Buffer.from(part.lines.map((line) => `${line}\n`).join(""))
        await writeWhole(file, bytes, size).catch((cause) => {
          throw writeError(path, cause)
        })
        size += bytes.length
        written += part.lines.length
        seal = part.lines.at(-1)
      }
      if (!part.isMore && !follows) return { lines: written }
      if (!part.isMore) await pause(pollMs)
    }
  } finally {
    await file.close()
  }
}

/** A disk that is nearly full takes a part, and says so by no error. */
async function writeWhole(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done)
    done += bytesWritten
  }
  await file.datasync()
}

/** Who follows a server waits for one that is started again. */
async function answered(
  tell: () => Promise<ExportPart>,
  pollMs: number | undefined,
): Promise<ExportPart> {
  for (;;) {
    try {
      return await tell()
    } catch (cause) {
      const isGone = cause instanceof Fault && cause.id === "start.not_running"
      if (pollMs === undefined || !isGone) throw cause
    }
    await pause(pollMs)
  }
}

/** For its owner only: it says what everybody did. */
async function fileAt(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r+").catch((cause) => {
      if (systemCode(cause) !== "ENOENT") throw cause
      return open(path, "wx+", 0o600)
    })
  } catch (cause) {
    throw startError("events_file", `${path} can't be written (${systemCode(cause)})`, cause)
  }
}

/** Bytes at the end of a file, doubled until there is a seal among them. */
const windowBytes = 65_536

/** The last seal, and where it ends; what follows it is cut off. */
async function standingOf(
  file: FileHandle,
  path: string,
): Promise<{ seal: string | undefined; size: number }> {
  const { size } = await file.stat()
  for (let length = Math.min(size, windowBytes); size > 0; length = Math.min(size, length * 2)) {
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length)
    const found = lastSeal(buffer)
    if (found) {
      await file.truncate(size - length + found.end)
      return { seal: found.seal, size: size - length + found.end }
    }
    if (length === size) break
  }
  await mustBeBegun(file, path)
  await file.truncate(0)
  return { seal: undefined, size: 0 }
}

const mark = '\n{"seal":"'

function lastSeal(bytes: Buffer): { readonly seal: string; readonly end: number } | undefined {
  for (let at = bytes.lastIndexOf(mark); at >= 0; ) {
    const end = bytes.indexOf("\n", at + 1)
    if (end >= 0) return { seal: bytes.toString("utf8", at + 1, end), end: end + 1 }
    at = at === 0 ? -1 : bytes.lastIndexOf(mark, at - 1)
  }
  return undefined
}

/** A file without a seal is the beginning of one of ours, or it is let be. */
async function mustBeBegun(file: FileHandle, path: string): Promise<void> {
  const start = '{"latchkey":"events"'
  const { buffer, bytesRead } = await file.read(Buffer.alloc(start.length), 0, start.length, 0)
  if (start.startsWith(buffer.toString("utf8", 0, bytesRead))) return
  throw startError("events_file", `${path} is no export of events; name another file`)
}

/** What stands there is cut off by who goes on: the last seal says how far the file is whole. */
function writeError(path: string, cause: unknown): unknown {
  const because = systemReasons[systemCode(cause)]
  if (!because) return cause
  const todo = "mend that, and begin again: it goes on where it is"
  return startError("events_file", `${path} can't be written: ${because}; ${todo}`, cause)
}

const sharedError = (path: string) =>
  startError("events_file", `somebody else writes to ${path}; one at a time can`)

const begunError = (path: string) =>
  startError("events_file", `${path} is there and goes on where it is; leave --after out`)
