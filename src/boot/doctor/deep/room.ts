import { existsSync, statfsSync, statSync } from "node:fs"
import { join } from "node:path"
import type { Config } from "../../../kernel/config.ts"
import { sizeText } from "../../../kernel/text/size.ts"
import { isInBucket } from "../../backup/bucket.ts"
import type { Folder } from "../../folder/folder.ts"
import { type Finding, ok, warning, wrong } from "../finding.ts"

/** How much is free where a file would go. */
export type Room = {
  readonly bytes: number
  /** How many files may be made; undefined where the file system has no such limit. */
  readonly files: number | undefined
}
export type RoomAt = (path: string) => Room

export function roomAt(path: string): Room {
  const { bavail, bsize, files, ffree } = statfsSync(path)
  return { bytes: bavail * bsize, files: files > 0 ? ffree : undefined }
}

/** A backup needs a few; databases and sockets, too. */
const filesMin = 100

type RoomOptions = {
  readonly config: Config
  readonly folder: Folder
  readonly roomAt: RoomAt
  /** The name of the newest backup in the folder for them, if there is one. */
  readonly newest: string | undefined
}

/** Whether the next backup fits: its copy of the database, and the backup where it goes. */
export function checkRoom({ config, folder, roomAt, newest }: RoomOptions): readonly Finding[] {
  const size = sizeOf(folder.database) + sizeOf(`${folder.database}-wal`)
  const copying = roomFinding("the copy that the next backup is made of", {
    needed: size,
    room: roomAt(folder.path),
    path: folder.path,
  })
  const target = config.backupFolder
  if (target === undefined || isInBucket(target) || !existsSync(target)) return [copying]
  const last = newest === undefined ? size : sizeOf(join(target, newest))
  // The next one is larger than the last, and made beside it.
  const needed = Math.ceil(last * 1.2)
  const next = { needed, room: roomAt(target), path: target }
  return [copying, roomFinding("the next backup", next)]
}

type Needed = { readonly needed: number; readonly room: Room; readonly path: string }

function roomFinding(what: string, { needed, room, path }: Needed): Finding {
  const { bytes, files } = room
  const said = `${what} needs ${sizeText(needed)} in ${path}, and ${sizeText(bytes)} are free`
  if (bytes < needed) return wrong("disk space", said, "free some space, or move the folder")
  if (files !== undefined && files < filesMin) {
    const inodes = `only ${files} inodes are free in ${path}`
    return wrong("disk space", inodes, "remove files that nobody needs: each takes one")
  }
  if (bytes < 2 * needed) {
    return warning("disk space", said, "free some space: it is too little for two of them")
  }
  return ok("disk space", said)
}

/** In bytes; 0 of what is not there, or in a bucket. */
export const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
