import { readFileSync } from "node:fs"
import { join } from "node:path"

/**
 * The differences between the API and a golden list, as instructions; empty if they agree. Lines
 * have the format of the list, including tabs, and can be copied from the failure.
 */
export function formatDifferences(book: readonly string[], golden: readonly string[]) {
  const [inBook, inGolden] = [new Set(book), new Set(golden)]
  return [
    ...[...inBook].filter((line) => !inGolden.has(line)).map((line) => `not listed: ${line}`),
    ...[...inGolden].filter((line) => !inBook.has(line)).map((line) => `not in proto/: ${line}`),
    ...golden.filter((line, at) => golden.indexOf(line) !== at).map((line) => `twice: ${line}`),
  ]
}

/** The rows of a golden list, by column name. */
export function tableOf(path: string): readonly Readonly<Record<string, string>>[] {
  const text = readFileSync(join(import.meta.dirname, "../..", path), "utf8")
  const [head = [], ...rows] = text
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"))
  return rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ""])))
}
