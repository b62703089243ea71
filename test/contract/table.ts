import { readFileSync } from "node:fs"
import { join } from "node:path"

/** The rows of a golden list, by the names of its columns. */
export function tableOf(path: string): readonly Readonly<Record<string, string>>[] {
  const text = readFileSync(join(import.meta.dirname, "../..", path), "utf8")
  const [head = [], ...rows] = text
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"))
  return rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ""])))
}
