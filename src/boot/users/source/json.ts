import type { FileEntry } from "../user.ts"
import { fileError, readLines, readText } from "./text.ts"

/** The maximum number of characters between two entries, which are skipped but kept in memory. */
const gapMax = 16_000_000

/**
 * The entries of a JSON file: an array, the list `users` of an object, or one object per line. A
 * syntax error in a document makes all of it invalid; in lines, only that line.
 */
export async function* jsonEntries(path: string): AsyncGenerator<FileEntry> {
  const shape = await detectShape(path)
  if (shape === "lines") yield* lineEntries(path)
  else yield* documentEntries(path, shape)
}

async function detectShape(path: string): Promise<"lines" | "$.*" | "$.users.*"> {
  if ((await firstLetter(path)) === "[") return "$.*"
  const first: (string | undefined)[] = []
  for await (const { line } of readLines(path)) {
    if (line?.trim() !== "") first.push(line)
    if (first.length === 2) break
  }
  const [firstLine, secondLine = ""] = first
  // A document can be one long line.
  if (firstLine === undefined) return first.length > 0 ? "$.users.*" : "lines"
  const { value, problem } = parseLine(firstLine)
  if (problem === undefined) return hasUserList(value) ? "$.users.*" : "lines"
  // Invalid, or the start of a document. Lines that start the same way are separate entries.
  return secondLine.startsWith("{") && !firstLine.includes('"users"') ? "lines" : "$.users.*"
}

async function firstLetter(path: string): Promise<string> {
  for await (const text of readText(path)) {
    const letter = text.trimStart()[0]
    if (letter !== undefined) return letter
  }
  return ""
}

const hasUserList = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "users" in value && Array.isArray(value.users)

function parseLine(line: string): Omit<FileEntry, "at"> {
  try {
    return { value: JSON.parse(line) }
  } catch (cause) {
    if (cause instanceof SyntaxError) {
      return { value: undefined, problem: `the line is not valid JSON: ${cause.message}` }
    }
    throw cause
  }
}

async function* lineEntries(path: string): AsyncGenerator<FileEntry> {
  for await (const { number, line } of readLines(path)) {
    if (line?.trim() === "") continue
    const at = `line ${number}`
    if (line === undefined) yield { at, value: undefined, problem: "the line is too long" }
    else yield { at, ...parseLine(line) }
  }
}

async function* documentEntries(path: string, shape: string): AsyncGenerator<FileEntry> {
  const { JSONParser } = await import("@streamparser/json")
  const parser = new JSONParser({ paths: [shape], keepStack: false })
  let found: unknown[] = []
  let [number, gap, broken] = [1, 0, ""]
  parser.onValue = ({ value }) => void found.push(value)
  parser.onError = ({ message }) => {
    broken ||= message
  }
  for await (const text of readText(path)) {
    parser.write(text)
    gap = found.length > 0 ? 0 : gap + text.length
    if (broken) throw invalidJsonError(path, number + found.length, broken)
    if (gap > gapMax)
      throw invalidJsonError(path, number, "there is too much other data between two entries")
    for (const value of found) yield { at: `entry ${number++}`, value }
    found = []
  }
  if (!parser.isEnded) throw invalidJsonError(path, number, "it ends unexpectedly")
}

const invalidJsonError = (path: string, number: number, reason: string) =>
  fileError(
    `${path} is not valid JSON at or after entry ${number} (${reason}); nothing was imported`,
  )
