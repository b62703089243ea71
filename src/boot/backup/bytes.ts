import { createHash } from "node:crypto"
import { open as openFile } from "node:fs/promises"
import { startError, systemCode, systemReasons } from "../start-error.ts"
import type { Sum } from "./manifest.ts"

export type Bytes = ReadableStream<Uint8Array>

/** Takes bytes, in order; resolves when it may be given more. */
export type Sink = (bytes: Uint8Array) => Promise<void>

/** Hands a stream on to `sink`, and answers what it was. */
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

/** Takes bytes and does nothing with them. */
export const nowhere: Sink = async () => undefined

/**
 * Makes a new file, for its owner only, and has `write` fill it; it is on disk when this resolves.
 * Refuses one that exists. Faults in plain words where the disk refuses it.
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

/** What was made in a folder, renamed or removed there is so on disk, too. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await openFile(folder, "r")
  await handle.sync()
}

/** Says why a file can't be written; anything but the system's refusal stays what it is. */
export function writeError(cause: unknown, file: string): unknown {
  const code = systemCode(cause)
  const because = code === "EEXIST" ? "it exists already" : systemReasons[code]
  if (!because) return cause
  return startError("file_unwritable", `${file} can't be written: ${because}`, cause)
}
