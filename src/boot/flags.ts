import { keyNames, keys, keysAllowedIn } from "../kernel/config.ts"
import type { Flag, Flags } from "./command-line.ts"

/** All settings that have a flag. */
export const settingFlags: Readonly<Record<string, Flag>> = Object.fromEntries(
  Object.entries(keys)
    .filter(([key]) => keysAllowedIn("flag").includes(key))
    .map(([key, { hint, help, values: of }]) => [
      keyNames.flag(key),
      { hint, help, ...(of && { of }) },
    ]),
)

/** The flags that select the data directory. */
export const folderFlags: Readonly<Record<string, Flag>> = {
  "--data": keys.data,
  "--config": keys.config,
}

export const masterKeyFlag: Readonly<Record<string, Flag>> = {
  "--master-key-file": keys.masterKeyFile,
}

/** The flags that configure the storage of `s3://` locations. */
export const storageFlags: Readonly<Record<string, Flag>> = {
  "--s3-endpoint": keys.s3Endpoint,
  "--s3-region": keys.s3Region,
  "--s3-key-id": keys.s3KeyId,
  "--s3-secret-file": keys.s3SecretFile,
}

/** The flags that are settings of the configuration. */
export const settingFlagsOf = (flags: Flags): Flags =>
  Object.fromEntries(Object.entries(flags).filter(([flag]) => Object.hasOwn(settingFlags, flag)))
