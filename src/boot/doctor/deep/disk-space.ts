import { existsSync, statfsSync, statSync } from "node:fs"
import { join } from "node:path"
import type { Config } from "../../../kernel/config.ts"
import { formatSize } from "../../../kernel/text/size.ts"
import { isInBucket } from "../../backup/bucket.ts"
import type { Folder } from "../../folder/folder.ts"
import { type Finding, ok, problem, warning } from "../finding.ts"

/** The free space at a location. */
export type FreeSpace = {
  readonly bytes: number
  /** The number of free inodes; undefined if the file system has no limit. */
  readonly files: number | undefined
}
export type FreeSpaceAt = (path: string) => FreeSpace

export function freeSpaceAt(path: string): FreeSpace {
  const { bavail, bsize, files, ffree } = statfsSync(path)
  return { bytes: bavail * bsize, files: files > 0 ? ffree : undefined }
}

/** A backup needs a few inodes, and so do databases and sockets. */
const inodesMin = 100

type DiskSpaceOptions = {
  readonly config: Config
  readonly folder: Folder
  readonly roomAt: FreeSpaceAt
  /** The name of the newest scheduled backup, if there is one. */
  readonly newest: string | undefined
}

/** Checks that the next backup fits: the copy of the database and the backup itself. */
export function checkDiskSpace({
  config,
  folder,
  roomAt,
  newest,
}: DiskSpaceOptions): readonly Finding[] {
  const size = sizeOf(folder.database) + sizeOf(`${folder.database}-wal`)
  const copying = spaceFinding("the database copy of the next backup", {
    needed: size,
    room: roomAt(folder.path),
    path: folder.path,
  })
  const target = config.backupFolder
  if (target === undefined || isInBucket(target) || !existsSync(target)) return [copying]
  const last = newest === undefined ? size : sizeOf(join(target, newest))
  // The next backup can be larger, and the last one still exists while it is written.
  const needed = Math.ceil(last * 1.2)
  const next = { needed, room: roomAt(target), path: target }
  return [copying, spaceFinding("the next backup", next)]
}

type SpaceCheck = { readonly needed: number; readonly room: FreeSpace; readonly path: string }

function spaceFinding(subject: string, { needed, room, path }: SpaceCheck): Finding {
  const { bytes, files } = room
  const required = formatSize(needed)
  const message = `${subject} requires ${required} in ${path}; ${formatSize(bytes)} are free`
  if (bytes < needed)
    return problem("disk space", message, "free some space, or move the directory")
  if (files !== undefined && files < inodesMin) {
    const inodes = `only ${files} inodes are free in ${path}`
    return problem("disk space", inodes, "delete unneeded files: each uses an inode")
  }
  if (bytes < 2 * needed) {
    return warning("disk space", message, "free some space: there is not enough for both")
  }
  return ok("disk space", message)
}

/** In bytes; 0 if the file is missing or in a bucket. */
export const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
