import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import {
  type Config,
  configOf,
  hasSecret,
  type Setting,
  type Sources,
  secretNames,
  settingsOf,
} from "../kernel/config.ts"
import { folderAt } from "./folder/folder.ts"
import { startError, systemCode } from "./start-error.ts"

/**
 * Reads the configuration with its file: the one that was named, else latchkey.toml in the data
 * folder if there is one.
 */
export const readConfig = (sources: Given): Config => configOf(withFile(sources))

/** The same as settings with where each comes from; refuses what a start would refuse. */
export function readSettings(sources: Given): readonly Setting[] {
  const all = withFile(sources)
  configOf(all)
  return settingsOf(all)
}

type Given = Pick<Sources, "flags" | "env">

function withFile(sources: Given): Sources {
  const { config, data } = configOf({ ...sources, file: {} })
  const filePath = config ? resolve(config) : folderAt(data).configFile
  const text = read(filePath, config === undefined)
  return { ...sources, file: parse(text, filePath), filePath }
}

/**
 * Whether a configuration may hold a secret: what can't be read, or is not known, may. So does a
 * line that was put aside as a comment.
 */
export function maySayTooMuch(text: string): boolean {
  try {
    if (new RegExp(`#.*\\b(${secretNames().join("|")})["']?\\s*=`).test(text)) return true
    return hasSecret({ ...Bun.TOML.parse(text) })
  } catch {
    // Whatever it is, it is no configuration that we could vouch for.
    return true
  }
}

/** A line for each setting. */
export const settingsText = (settings: readonly Setting[]): string =>
  settings
    .map(({ name, value, from }) => `  ${name.padEnd(22)} ${valueText(value).padEnd(28)} ${from}`)
    .join("\n")

const valueText = (value: unknown): string =>
  value === null ? "" : typeof value === "string" ? value : JSON.stringify(value)

function read(file: string, mayBeAbsent: boolean): string {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    const code = systemCode(error)
    // What is wrong with the data folder itself is said when it is opened.
    if (mayBeAbsent && ["ENOENT", "ENOTDIR"].includes(code)) return ""
    throw startError(
      "config_unreadable",
      `the configuration ${file} can't be read (${code})`,
      error,
    )
  }
}

function parse(text: string, file: string): Record<string, unknown> {
  try {
    return { ...Bun.TOML.parse(text) }
  } catch (error) {
    // The parser's message may quote the line, and the line may be the master key.
    throw startError("config_malformed", `${file} is not a TOML file that can be read`, error)
  }
}
