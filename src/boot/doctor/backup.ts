import type { Config } from "../../kernel/config.ts"
import { backupsUntil, knownLabel } from "../backup/rotation.ts"
import { folderAt } from "../folder/folder.ts"
import { type Finding, ok, warning } from "./finding.ts"

const hourMs = 3_600_000

/** Where backups are made by themselves, whether they really are. */
export function checkBackups(config: Config, now: number): readonly Finding[] {
  const { backupFolder: folder, backupEveryHours: every } = config
  if (folder === undefined) return []
  const label = knownLabel(folderAt(config.data))
  const newest = label && backupsUntil({ folder, label }, now)[0]
  const todo = "see the server's log, and that it may write there"
  if (!newest) return [warning("backups", `there is none in ${folder} yet`, todo)]
  const hours = Math.floor((now - newest.made) / hourMs)
  const said = `the newest in ${folder} is ${hours} hours old`
  return [hours > 2 * every ? warning("backups", said, todo) : ok("backups", said)]
}
