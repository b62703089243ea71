import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"
import type { Config } from "../../kernel/config.ts"
import { bucketAt, isInBucket } from "./bucket.ts"

/** Where backups lie beside each other: a folder, or what begins alike in a bucket. */
export type BackupPlace = {
  /** What lies there whose name begins so. */
  readonly names: (beginning: string) => Promise<readonly string[]>
  /** What a backup of this name is called there, as the command wants it. */
  readonly called: (name: string) => string
  readonly prepare: () => void
  readonly remove: (name: string) => Promise<void>
}

/** The place that a setting names. */
export function placeAt(to: string, config: Config): BackupPlace {
  if (!isInBucket(to)) return folderPlace(resolve(to))
  const bucket = bucketAt(to, config, config.backupRecipient !== undefined)
  return {
    ...bucket,
    called: (name) => `${to.replace(/\/$/, "")}/${name}`,
    prepare: () => undefined,
  }
}

export const folderPlace = (folder: string): BackupPlace => ({
  names: async (beginning) =>
    existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith(beginning)) : [],
  called: (name) => join(folder, name),
  prepare: () => void mkdirSync(folder, { recursive: true, mode: 0o700 }),
  remove: async (name) => rmSync(join(folder, name)),
})
