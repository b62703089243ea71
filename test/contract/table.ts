import { readFileSync } from "node:fs"
import { join } from "node:path"

/**
 * What to do about each line that the book or the golden lists alone have, in words; empty where
 * they agree. A line is written as the list wants it, tabs and all, to be copied from the failure.
 */
export function disagreements(book: readonly string[], golden: readonly string[]) {
  const [inBook, inGolden] = [new Set(book), new Set(golden)]
  return [
    ...[...inBook].filter((line) => !inGolden.has(line)).map((line) => `not listed: ${line}`),
    ...[...inGolden].filter((line) => !inBook.has(line)).map((line) => `not in proto/: ${line}`),
    ...golden.filter((line, at) => golden.indexOf(line) !== at).map((line) => `twice: ${line}`),
  ]
}

/** The rows of a golden list, by the names of its columns. */
export function tableOf(path: string): readonly Readonly<Record<string, string>>[] {
  const text = readFileSync(join(import.meta.dirname, "../..", path), "utf8")
  const [head = [], ...rows] = text
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"))
  return rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ""])))
}
