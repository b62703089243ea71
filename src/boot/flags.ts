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

/** What says which storage `s3://` means. */
export const storageFlags: Readonly<Record<string, Flag>> = {
  "--s3-endpoint": keys.s3Endpoint,
  "--s3-region": keys.s3Region,
  "--s3-key-id": keys.s3KeyId,
  "--s3-secret-file": keys.s3SecretFile,
}

/** Those of the flags that the configuration is read from. */
export const settingsIn = (flags: Flags): Flags =>
  Object.fromEntries(Object.entries(flags).filter(([flag]) => Object.hasOwn(settingFlags, flag)))
