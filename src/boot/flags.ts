import { keys, keysFrom, spelling } from "../kernel/config.ts"
import type { Flag, Flags } from "./command-line.ts"

/** Every setting that may be a flag. */
export const settingFlags: Readonly<Record<string, Flag>> = Object.fromEntries(
  Object.entries(keys)
    .filter(([key]) => keysFrom("flag").includes(key))
    .map(([key, { hint, help, of }]) => [spelling.flag(key), { hint, help, ...(of && { of }) }]),
)

/** What says which data folder a command is about. */
export const folderFlags: Readonly<Record<string, Flag>> = {
  "--data": keys.data,
  "--config": keys.config,
}

export const masterKeyFlag: Readonly<Record<string, Flag>> = {
  "--master-key-file": keys.masterKeyFile,
}

/** Those of the flags that the configuration is read from. */
export const settingsIn = (flags: Flags): Flags =>
  Object.fromEntries(Object.entries(flags).filter(([flag]) => Object.hasOwn(settingFlags, flag)))
