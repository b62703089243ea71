import { existsSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"

// Backups that are made by themselves lie in one folder and are called by their time, in UTC. Only
// what is called so is counted and removed: whatever else lies there is somebody's.

const pattern = /^latchkey-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup$/

/** What a backup of this moment is called. `now` is in ms UTC. */
export const backupName = (now: number): string =>
  `latchkey-${new Date(now)
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replace(/[-:]/g, "")}.backup`

export type MadeBackup = {
  readonly file: string
  /** ms UTC. */
  readonly made: number
}

/** Those of a folder, the newest first; none where there is no folder. */
export function backupsIn(folder: string): readonly MadeBackup[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .flatMap((name) => {
      const [, ...parts] = pattern.exec(name) ?? []
      const [year, month, day, hour, minute, second] = parts.map(Number)
      if (year === undefined || month === undefined) return []
      const made = Date.UTC(year, month - 1, day, hour, minute, second)
      return [{ file: join(folder, name), made }]
    })
    .sort((a, b) => b.made - a.made)
}

/** Those that were made until a moment: a clock that was ahead may have named others. */
export const backupsUntil = (folder: string, now: number): readonly MadeBackup[] =>
  backupsIn(folder).filter(({ made }) => made <= now)

/** Removes all that were made until a moment but the newest ones. */
export function dropOldest(folder: string, { keep, now }: { keep: number; now: number }): void {
  for (const { file } of backupsUntil(folder, now).slice(keep)) rmSync(file)
}
