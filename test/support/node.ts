import { existsSync, realpathSync } from "node:fs"
import { delimiter, join } from "node:path"

/** The path of Node itself: under `bun --bun`, `node` in PATH is Bun. */
export function nodeProgram(): string {
  const ours = realpathSync(process.execPath)
  const found = (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "node"))
    .find((path) => existsSync(path) && realpathSync(path) !== ours)
  if (found === undefined) throw new Error("there is no node on this machine")
  return found
}
