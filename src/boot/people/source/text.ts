import { createReadStream } from "node:fs"
import { Fault } from "../../../kernel/fault.ts"
import { startError, systemCode } from "../../start-error.ts"

const utf16 = new Set(["fffe", "feff"])

/**
 * A file as text, chunk by chunk, without the mark that some programs begin with. Refuses what is
 * not UTF-8 (RFC 3629), rather than to spoil names.
 */
export async function* textOf(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true })
  let isFirst = true
  for await (const chunk of chunksOf(path)) {
    if (isFirst && utf16.has(chunk.subarray(0, 2).toString("hex"))) throw encodingError(path)
    isFirst = false
    yield decoded(path, () => decoder.decode(chunk, { stream: true }))
  }
  yield decoded(path, () => decoder.decode())
}

async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path)
  } catch (cause) {
    throw startError("import_file", `${path} can't be read (${systemCode(cause)})`, cause)
  }
}

function decoded(path: string, decode: () => string): string {
  try {
    return decode()
  } catch (cause) {
    if (cause instanceof TypeError) throw encodingError(path)
    throw cause
  }
}

const encodingError = (path: string) =>
  fileError(`${path} is not UTF-8; save it with the encoding UTF-8 and try again`)

/** Nothing of the file is taken over. */
export const fileError = (message: string, cause?: unknown): Fault =>
  new Fault("invalid_argument", "people.file", message, { cause })

/** Letters of one entry: nobody has that much, and a file without an end is no file of people. */
export const entryMax = 1_000_000

/** Lines with their numbers; undefined stands for one that is too long to be looked at. */
export async function* linesOf(
  path: string,
): AsyncGenerator<{ readonly number: number; readonly line: string | undefined }> {
  let [rest, number, isTooLong] = ["", 1, false]
  for await (const text of textOf(path)) {
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
