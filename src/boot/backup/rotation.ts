import { existsSync, readFileSync } from "node:fs"
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

/** The label of a data folder; undefined before its first backup. A restored copy gets its own. */
export function knownLabel({ backupLabel }: Pick<Folder, "backupLabel">): string | undefined {
  if (!existsSync(backupLabel)) return undefined
  const text = withFile(backupLabel, () => readFileSync(backupLabel, "utf8")).trim()
  return /^[0-9a-f]{8}$/.test(text) ? text : undefined
}

/** The same; made where there is none. */
export function labelOf(folder: Pick<Folder, "backupLabel">, random: Random): string {
  const known = knownLabel(folder)
  if (known !== undefined) return known
  const label = Buffer.from(random.bytes(4)).toString("hex")
  writeDurably(folder.backupLabel, `${label}\n`)
  return label
}

/** What the names of a data folder's backups begin with. */
const beginningOf = (label: string) => `latchkey-${label}-`

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
