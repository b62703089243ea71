import { type FileHandle, open } from "node:fs/promises"
import { delay } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import { startError, systemCode, systemReasons } from "../start-error.ts"
import type { ExportPart, ExportRequest } from "./part.ts"

type ExportOptions = {
  readonly startAt: Pick<ExportRequest, "instance" | "after">
  readonly follows: boolean
  /** Requests the next part from the running server. */
  readonly requestPart: (startAt: ExportRequest) => Promise<ExportPart>
  /** The interval between requests while there are no new events, in ms. */
  readonly pollMs?: number
}

/**
 * Appends the events that follow those in a file, each part with its seal. Every part is on disk
 * before the next one is requested, so the file itself stores the position. Lines after the last
 * seal, from a killed process, are replaced.
 */
export async function exportEvents(
  path: string,
  { startAt, follows, requestPart: request, pollMs = 500 }: ExportOptions,
): Promise<{ readonly lines: number }> {
  const file = await openFile(path)
  try {
    let { seal, size } = await findLastSeal(file, path)
    if (seal !== undefined && startAt.after !== undefined) throw alreadyStartedError(path)
    let written = 0
    for (;;) {
      const { instance, after } = startAt
      const part = await requestPart(
        () => request(seal === undefined ? { instance, after } : { instance, seal }),
        follows ? pollMs : undefined,
      )
      if ((await file.stat()).size !== size) throw fileInUseError(path)
      if (part.lines.length > 0) {
        const bytes = Buffer.from(part.lines.map((line) => `${line}\n`).join(""))
        await writeFully(file, bytes, size).catch((cause) => {
          throw writeError(path, cause)
        })
        size += bytes.length
        written += part.lines.length
        seal = part.lines.at(-1)
      }
      if (!part.isMore && !follows) return { lines: written }
      if (!part.isMore) await delay(pollMs)
    }
  } finally {
    await file.close()
  }
}

/** A nearly full disk can write part of the bytes without an error. */
async function writeFully(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done)
    done += bytesWritten
  }
  await file.datasync()
}

/** With `follows`, waits while the server restarts. */
async function requestPart(
  request: () => Promise<ExportPart>,
  pollMs: number | undefined,
): Promise<ExportPart> {
  for (;;) {
    try {
      return await request()
    } catch (cause) {
      const isGone = cause instanceof Fault && cause.id === "start.not_running"
      if (pollMs === undefined || !isGone) throw cause
    }
    await delay(pollMs)
  }
}

/** Only the owner can read the file, because it contains the actions of all users. */
async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r+").catch((cause) => {
      if (systemCode(cause) !== "ENOENT") throw cause
      return open(path, "wx+", 0o600)
    })
  } catch (cause) {
    throw startError("events_file", `${path} can't be written (${systemCode(cause)})`, cause)
  }
}

/** The bytes to read from the end of the file, doubled until they contain a seal. */
const windowBytes = 65_536

/** The last seal and the position where it ends; the rest is cut off. */
async function findLastSeal(
  file: FileHandle,
  path: string,
): Promise<{ seal: string | undefined; size: number }> {
  const { size } = await file.stat()
  for (let length = Math.min(size, windowBytes); size > 0; length = Math.min(size, length * 2)) {
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length)
    const found = lastSealIn(buffer)
    if (found) {
      await file.truncate(size - length + found.end)
      return { seal: found.seal, size: size - length + found.end }
    }
    if (length === size) break
  }
  await requireExportFile(file, path)
  await file.truncate(0)
  return { seal: undefined, size: 0 }
}

const sealPrefix = '\n{"seal":"'

function lastSealIn(bytes: Buffer): { readonly seal: string; readonly end: number } | undefined {
  for (let at = bytes.lastIndexOf(sealPrefix); at >= 0; ) {
    const end = bytes.indexOf("\n", at + 1)
    if (end >= 0) return { seal: bytes.toString("utf8", at + 1, end), end: end + 1 }
    at = at === 0 ? -1 : bytes.lastIndexOf(sealPrefix, at - 1)
  }
  return undefined
}

/** Rejects a file without a seal unless it is an empty or started export. */
async function requireExportFile(file: FileHandle, path: string): Promise<void> {
  const start = '{"latchkey":"events"'
  const { buffer, bytesRead } = await file.read(Buffer.alloc(start.length), 0, start.length, 0)
  if (start.startsWith(buffer.toString("utf8", 0, bytesRead))) return
  throw startError("events_file", `${path} is not an event export; name another file`)
}

/** The last seal marks how far the file is valid, so the next run cuts off a partial write. */
function writeError(path: string, cause: unknown): unknown {
  const reason = systemReasons[systemCode(cause)]
  if (!reason) return cause
  const todo = "fix that and run the command again: it continues from the last seal"
  return startError("events_file", `${path} can't be written: ${reason}; ${todo}`, cause)
}

const fileInUseError = (path: string) =>
  startError("events_file", `another process is writing to ${path}; only one can write at a time`)

const alreadyStartedError = (path: string) =>
  startError(
    "events_file",
    `${path} already exists and is continued from its last seal; omit --after`,
  )
