import { createReadStream } from "node:fs"
import { Fault } from "../../../kernel/fault.ts"
import { startError, systemCode } from "../../start-error.ts"

const utf16Marks = new Set(["fffe", "feff"])

/**
 * The text of a file in chunks, without a byte order mark. Throws if it is not UTF-8 (RFC 3629),
 * because names would be corrupted.
 */
export async function* readText(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true })
  let isFirst = true
  for await (const chunk of readChunks(path)) {
    if (isFirst && utf16Marks.has(chunk.subarray(0, 2).toString("hex"))) throw encodingError(path)
    isFirst = false
    yield decodeOrThrow(path, () => decoder.decode(chunk, { stream: true }))
  }
  yield decodeOrThrow(path, () => decoder.decode())
}

async function* readChunks(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path)
  } catch (cause) {
    throw startError("import_file", `${path} can't be read (${systemCode(cause)})`, cause)
  }
}

function decodeOrThrow(path: string, decode: () => string): string {
  try {
    return decode()
  } catch (cause) {
    if (cause instanceof TypeError) throw encodingError(path)
    throw cause
  }
}

const encodingError = (path: string) =>
  fileError(`${path} is not UTF-8; save it as UTF-8 and try again`)

/** The file can't be read; nothing is imported. */
export const fileError = (message: string, cause?: unknown): Fault =>
  new Fault("invalid_argument", "people.file", message, { cause })

/** The maximum number of characters of an entry. */
export const entryMax = 1_000_000

/** Lines with their numbers; `line` is undefined if it is too long. */
export async function* readLines(
  path: string,
): AsyncGenerator<{ readonly number: number; readonly line: string | undefined }> {
  let [rest, number, isTooLong] = ["", 1, false]
  for await (const text of readText(path)) {
    const [first = "", ...more] = text.split("\n")
    rest += first
    for (const next of more) {
      yield { number: number++, line: isTooLong || rest.length > entryMax ? undefined : rest }
      ;[rest, isTooLong] = [next, false]
    }
    if (rest.length > entryMax) [rest, isTooLong] = ["", true]
  }
  if (rest !== "" || isTooLong) yield { number, line: isTooLong ? undefined : rest }
}
