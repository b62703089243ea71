import type { Entry } from "../person.ts"
import { fileError, linesOf, textOf } from "./text.ts"

/** Letters between two entries: whatever else stands in a file is read past, but held meanwhile. */
const gapMax = 16_000_000

/**
 * The entries of a file of JSON: of an array, of the list `users` in an object, or one object on
 * each line. What is broken in the midst of a document breaks all of it; a line only itself.
 */
export async function* jsonEntries(path: string): AsyncGenerator<Entry> {
  const shape = await shapeOf(path)
  if (shape === "lines") yield* lineEntries(path)
  else yield* documentEntries(path, shape)
}

async function shapeOf(path: string): Promise<"lines" | "$.*" | "$.users.*"> {
  if ((await firstLetter(path)) === "[") return "$.*"
  const first: (string | undefined)[] = []
  for await (const { line } of linesOf(path)) {
    if (line?.trim() !== "") first.push(line)
    if (first.length === 2) break
  }
  const [one, two = ""] = first
  // A document may be one line, however long.
  if (one === undefined) return first.length > 0 ? "$.users.*" : "lines"
  const { value, wrong } = parsed(one)
  if (wrong === undefined) return isList(value) ? "$.users.*" : "lines"
  // Broken, or the beginning of a document: lines that begin alike are entries each.
  return two.startsWith("{") && !one.includes('"users"') ? "lines" : "$.users.*"
}

async function firstLetter(path: string): Promise<string> {
  for await (const text of textOf(path)) {
    const letter = text.trimStart()[0]
    if (letter !== undefined) return letter
  }
  return ""
}

const isList = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "users" in value && Array.isArray(value.users)

function parsed(line: string): Omit<Entry, "at"> {
  try {
    return { value: JSON.parse(line) }
  } catch (cause) {
    if (cause instanceof SyntaxError) {
      return { value: undefined, wrong: `this is no JSON: ${cause.message}` }
    }
    throw cause
  }
}

async function* lineEntries(path: string): AsyncGenerator<Entry> {
  for await (const { number, line } of linesOf(path)) {
    if (line?.trim() === "") continue
    const at = `line ${number}`
    if (line === undefined) yield { at, value: undefined, wrong: "the line is too long" }
    else yield { at, ...parsed(line) }
  }
}

async function* documentEntries(path: string, shape: string): AsyncGenerator<Entry> {
  const { JSONParser } = await import("@streamparser/json")
  const parser = new JSONParser({ paths: [shape], keepStack: false })
  let found: unknown[] = []
  let [number, gap, broken] = [1, 0, ""]
  parser.onValue = ({ value }) => void found.push(value)
  parser.onError = ({ message }) => {
    broken ||= message
  }
  for await (const text of textOf(path)) {
    parser.write(text)
    gap = found.length > 0 ? 0 : gap + text.length
    if (broken) throw brokenError(path, number + found.length, broken)
    if (gap > gapMax) throw brokenError(path, number, "too much stands between two entries")
    for (const value of found) yield { at: `entry ${number++}`, value }
    found = []
  }
  if (!parser.isEnded) throw brokenError(path, number, "it ends in the midst of something")
}

const brokenError = (path: string, number: number, why: string) =>
  fileError(`${path} is broken JSON at or behind entry ${number} (${why}); nothing was taken over`)
