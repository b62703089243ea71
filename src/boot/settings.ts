import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { type Config, configOf, type Sources } from "../kernel/config.ts"
import { folderAt } from "./folder/folder.ts"
import { startError, systemCode } from "./start-error.ts"

/**
 * Reads the configuration with its file: the one that was named, else latchkey.toml in the data
 * folder if there is one.
 */
export function readConfig(sources: Pick<Sources, "flags" | "env">): Config {
  const { config, data } = configOf({ ...sources, file: {} })
  const filePath = config ? resolve(config) : folderAt(data).configFile
  const text = read(filePath, config === undefined)
  return configOf({ ...sources, file: parse(text, filePath), filePath })
}

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
