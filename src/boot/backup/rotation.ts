import { type BigIntStats, existsSync, fstatSync, readFileSync, statSync } from "node:fs"
import type { Random } from "../../kernel/crypto/random.ts"
import { writeDurably } from "../folder/durable.ts"
import type { Folder } from "../folder/folder.ts"
import { withFile } from "../start-error.ts"
import type { BackupPlace } from "./place.ts"

// Backups that are made by themselves are called by the data folder that they are of, and by their
// time, in UTC. Only what is called so is counted and removed: several servers may have one place
// for their backups, and whatever else lies there is somebody's.

const pattern = /^latchkey-([0-9a-f]{8})-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup$/

/** Where the backups of one data folder are. */
export type Shelf = {
  readonly place: Pick<BackupPlace, "names" | "remove">
  /** What tells that data folder from others: eight hexadecimal digits. */
  readonly label: string
}

/**
 * The label of a data folder; undefined before its first backup. A restored folder gets its own,
 * and so does a copy: the file says when it was made, which no copy of it has in common with it.
 * Else two servers with one place for backups would drop each other's.
 */
export function knownLabel(folder: Pick<Folder, "backupLabel">): string | undefined {
  const { label, born, isItself } = saidIn(folder)
  return born === undefined || isItself ? label : undefined
}

/**
 * The same; made where there is none. What is there stays until the new one is on disk: without it,
 * the backups so far would be nobody's, and never counted or removed again.
 */
export function labelOf(folder: Pick<Folder, "backupLabel">, random: Random): string {
  const known = knownLabel(folder)
  if (known !== undefined && saidIn(folder).isItself) return known
  const label = known ?? Buffer.from(random.bytes(4)).toString("hex")
  writeDurably(folder.backupLabel, (file) => `${label} ${bornOf(fstatSync(file, exact))}\n`)
  return label
}

type Said = {
  readonly label?: string | undefined
  /** When the file was made, as it says; one of before says nothing. */
  readonly born?: string | undefined
  /** Whether that is when it was. */
  readonly isItself: boolean
}

function saidIn({ backupLabel: file }: Pick<Folder, "backupLabel">): Said {
  if (!existsSync(file)) return { isItself: false }
  const text = withFile(file, () => readFileSync(file, "utf8"))
  const [, label, born] = /^([0-9a-f]{8})(?: (\d+))?\s*$/.exec(text) ?? []
  return { label, born, isItself: born === bornOf(statSync(file, exact)) }
}

const exact = { bigint: true } as const

/** In nanoseconds; 0 where the file system does not know, and then copies are not told apart. */
const bornOf = ({ birthtimeNs }: BigIntStats): string => `${birthtimeNs}`

/** What the names of a data folder's backups begin with. */
export const beginningOf = (label: string) => `latchkey-${label}-`

/** What a backup of this moment is called. `now` is in ms UTC. */
export const backupName = (label: string, now: number): string =>
  `${beginningOf(label)}${new Date(now)
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replace(/[-:]/g, "")}.backup`

export type MadeBackup = {
  readonly name: string
  /** ms UTC. */
  readonly made: number
}

/** Those of a data folder, the newest first; none where there is no place for them yet. */
export async function backupsIn({ place, label }: Shelf): Promise<readonly MadeBackup[]> {
  return (await place.names(beginningOf(label)))
    .flatMap((name) => {
      const [, whose, ...parts] = pattern.exec(name) ?? []
      if (whose !== label) return []
      const [year, month, day, hour, minute, second] = parts.map(Number)
      if (year === undefined || month === undefined) return []
      const made = Date.UTC(year, month - 1, day, hour, minute, second)
      return [{ name, made }]
    })
    .sort((a, b) => b.made - a.made)
}

/** Those that were made until a moment: a clock that was ahead may have named others. */
export const backupsUntil = async (shelf: Shelf, now: number): Promise<readonly MadeBackup[]> =>
  (await backupsIn(shelf)).filter(({ made }) => made <= now)

/** Removes all that were made until a moment but the newest ones. */
export async function dropOldest(shelf: Shelf, { keep, now }: { keep: number; now: number }) {
  for (const { name } of (await backupsUntil(shelf, now)).slice(keep)) {
    await shelf.place.remove(name)
  }
}
