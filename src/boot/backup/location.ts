import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"
import type { Config } from "../../kernel/config.ts"
import { bucketAt, isInBucket } from "./bucket.ts"

/** A location that contains several backups: a directory or a prefix in a bucket. */
export type BackupLocation = {
  /** The names in the location that start with this prefix. */
  readonly names: (beginning: string) => Promise<readonly string[]>
  /** The full name of a backup as the restore command accepts it. */
  readonly pathOf: (name: string) => string
  readonly prepare: () => void
  readonly remove: (name: string) => Promise<void>
}

/** The location that a setting names. */
export function locationAt(to: string, config: Config): BackupLocation {
  if (!isInBucket(to)) return folderLocation(resolve(to))
  const bucket = bucketAt(to, config, config.backupRecipient !== undefined)
  return {
    ...bucket,
    pathOf: (name) => `${to.replace(/\/$/, "")}/${name}`,
    prepare: () => undefined,
  }
}

export const folderLocation = (folder: string): BackupLocation => ({
  names: async (beginning) =>
    existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith(beginning)) : [],
  pathOf: (name) => join(folder, name),
  prepare: () => void mkdirSync(folder, { recursive: true, mode: 0o700 }),
  remove: async (name) => rmSync(join(folder, name)),
})
