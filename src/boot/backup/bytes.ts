import { createHash } from "node:crypto"
import { open as openFile } from "node:fs/promises"
import { startError, systemCode, systemReasons } from "../start-error.ts"
import type { Sum } from "./manifest.ts"

export type Bytes = ReadableStream<Uint8Array>

/** Accepts bytes in order; resolves when it can accept more. */
export type Sink = (bytes: Uint8Array) => Promise<void>

/** Passes a stream to `sink` and returns its size and checksum. */
export async function drain(from: AsyncIterable<Uint8Array>, sink: Sink): Promise<Sum> {
  const hash = createHash("sha256")
  let size = 0
  for await (const bytes of from) {
    hash.update(bytes)
    size += bytes.length
    await sink(bytes)
  }
  return { size, sha256: hash.digest("hex") }
}

/** A sink that discards all bytes. */
export const discard: Sink = async () => undefined

/**
 * Creates a new file that only its owner can read and has `write` fill it. Resolves when the file
 * is on disk. Throws if the file exists or can't be written.
 */
export async function writeNewFile<T>(file: string, write: (sink: Sink) => Promise<T>): Promise<T> {
  try {
    await using handle = await openFile(file, "wx", 0o600)
    const result = await write(async (bytes) => {
      for (let at = 0; at < bytes.length; ) {
        at += (await handle.write(bytes, at, bytes.length - at)).bytesWritten
      }
    })
    await handle.sync()
    return result
  } catch (cause) {
    throw writeError(cause, file)
  }
}

/** Flushes created, renamed and deleted entries of a directory to disk. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await openFile(folder, "r")
  await handle.sync()
}

/** Describes why a file can't be written; other errors are returned unchanged. */
export function writeError(cause: unknown, file: string): unknown {
  const code = systemCode(cause)
  const reason = code === "EEXIST" ? "it already exists" : systemReasons[code]
  if (!reason) return cause
  return startError("file_unwritable", `${file} can't be written: ${reason}`, cause)
}
