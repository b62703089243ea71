import { type BigIntStats, existsSync, fstatSync, readFileSync, statSync } from "node:fs"
import type { Random } from "../../kernel/crypto/random.ts"
import { writeDurably } from "../folder/durable.ts"
import type { Folder } from "../folder/folder.ts"
import { tryFile } from "../start-error.ts"
import type { BackupLocation } from "./location.ts"

// Scheduled backups are named by the data directory they belong to and by their time in UTC. Only
// files with such names are counted and removed: several servers can share a location that also
// contains other files.

const pattern = /^latchkey-([0-9a-f]{8})-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup$/

/** The location of the backups of one data directory. */
export type BackupShelf = {
  readonly place: Pick<BackupLocation, "names" | "remove">
  /** The label of the data directory: eight hexadecimal digits. */
  readonly label: string
}

/**
 * The label of a data directory; undefined before its first backup. A restored or copied directory
 * gets its own label: the file contains its creation time, which a copy does not share. Otherwise
 * two servers with one location would remove each other's backups.
 */
export function findLabel(folder: Pick<Folder, "backupLabel">): string | undefined {
  const { label, createdAt, isOriginal } = readLabelFile(folder)
  return createdAt === undefined || isOriginal ? label : undefined
}

/**
 * The label of a data directory, created if there is none. The old file is kept until the new one
 * is on disk: without it, existing backups would never be counted or removed.
 */
export function getLabel(folder: Pick<Folder, "backupLabel">, random: Random): string {
  const known = findLabel(folder)
  if (known !== undefined && readLabelFile(folder).isOriginal) return known
  const label = known ?? Buffer.from(random.bytes(4)).toString("hex")
  writeDurably(
    folder.backupLabel,
    (file) => `${label} ${creationTimeOf(fstatSync(file, statOptions))}\n`,
  )
  return label
}

type LabelFile = {
  readonly label?: string | undefined
  /** The recorded creation time of the file; older versions record none. */
  readonly createdAt?: string | undefined
  /** Whether the file still has its recorded creation time. */
  readonly isOriginal: boolean
}

function readLabelFile({ backupLabel: file }: Pick<Folder, "backupLabel">): LabelFile {
  if (!existsSync(file)) return { isOriginal: false }
  const text = tryFile(file, () => readFileSync(file, "utf8"))
  const [, label, createdAt] = /^([0-9a-f]{8})(?: (\d+))?\s*$/.exec(text) ?? []
  return { label, createdAt, isOriginal: createdAt === creationTimeOf(statSync(file, statOptions)) }
}

const statOptions = { bigint: true } as const

/** In nanoseconds; 0 if the file system does not record it, and then copies can't be recognized. */
const creationTimeOf = ({ birthtimeNs }: BigIntStats): string => `${birthtimeNs}`

/** The prefix of the names of a data directory's backups. */
export const namePrefixOf = (label: string) => `latchkey-${label}-`

/** The name of a backup created now. `now` is in ms since the epoch. */
export const backupName = (label: string, now: number): string =>
  `${namePrefixOf(label)}${new Date(now)
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replace(/[-:]/g, "")}.backup`

export type ExistingBackup = {
  readonly name: string
  /** In ms since the epoch. */
  readonly made: number
}

/** The backups of a data directory, newest first; none if the location does not exist yet. */
export async function listBackups({
  place,
  label,
}: BackupShelf): Promise<readonly ExistingBackup[]> {
  return (await place.names(namePrefixOf(label)))
    .flatMap((name) => {
      const [, whose, ...parts] = pattern.exec(name) ?? []
      if (whose !== label) return []
      const [year, month, day, hour, minute, second] = parts.map(Number)
      if (year === undefined || month === undefined) return []
      const created = Date.UTC(year, month - 1, day, hour, minute, second)
      return [{ name, made: created }]
    })
    .sort((a, b) => b.made - a.made)
}

/**
 * The backups created up to a time, because a clock that was wrong may have created names in the
 * future.
 */
export const listBackupsUntil = async (
  shelf: BackupShelf,
  now: number,
): Promise<readonly ExistingBackup[]> =>
  (await listBackups(shelf)).filter(({ made: created }) => created <= now)

/** Removes all backups created up to a time except the newest `keep`. */
export async function dropOldest(shelf: BackupShelf, { keep, now }: { keep: number; now: number }) {
  for (const { name } of (await listBackupsUntil(shelf, now)).slice(keep)) {
    await shelf.place.remove(name)
  }
}
