import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import {
  type Config,
  containsSecret,
  listSecretNames,
  listSettings,
  parseConfig,
  type Setting,
  type Sources,
} from "../kernel/config.ts"
import { folderAt } from "./folder/folder.ts"
import { startError, systemCode } from "./start-error.ts"

/**
 * Reads the configuration with its file: the named one, otherwise latchkey.toml in the data
 * directory if it exists.
 */
export const readConfig = (sources: ConfigSources): Config => parseConfig(withConfigFile(sources))

/** The settings with their sources. Throws for an invalid configuration, like a start. */
export function readSettings(sources: ConfigSources): readonly Setting[] {
  const all = withConfigFile(sources)
  parseConfig(all)
  return listSettings(all)
}

type ConfigSources = Pick<Sources, "flags" | "env">

function withConfigFile(sources: ConfigSources): Sources {
  const { config, data } = parseConfig({ ...sources, file: {} })
  const filePath = config ? resolve(config) : folderAt(data).configFile
  const text = read(filePath, config === undefined)
  return { ...sources, file: parse(text, filePath), filePath }
}

/**
 * Whether a configuration file can contain a secret. Unreadable files and unknown settings can, and
 * so can commented-out lines.
 */
export function canContainSecrets(text: string): boolean {
  try {
    if (new RegExp(`#.*\\b(${listSecretNames().join("|")})["']?\\s*=`).test(text)) return true
    return containsSecret({ ...Bun.TOML.parse(text) })
  } catch {
    // Invalid TOML could contain anything.
    return true
  }
}

/** A line for each setting. */
export const formatSettings = (settings: readonly Setting[]): string =>
  settings
    .map(({ name, value, from }) => `  ${name.padEnd(22)} ${formatValue(value).padEnd(28)} ${from}`)
    .join("\n")

const formatValue = (value: unknown): string =>
  value === null ? "" : typeof value === "string" ? value : JSON.stringify(value)

function read(file: string, mayBeAbsent: boolean): string {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    const code = systemCode(error)
    // Problems with the data directory are reported when it is opened.
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
    // The parser's message can quote the line, which can contain the master key.
    throw startError("config_malformed", `${file} is not valid TOML`, error)
  }
}
