import type { Config } from "../../kernel/config.ts"
import { Fault } from "../../kernel/fault.ts"
import { locationAt } from "../backup/location.ts"
import { findLabel, listBackupsUntil } from "../backup/rotation.ts"
import { folderAt } from "../folder/folder.ts"
import { type Finding, ok, problem, warning } from "./finding.ts"

const hourMs = 3_600_000

/** Checks whether scheduled backups are created, if they are enabled. */
export async function checkBackups(config: Config, now: number): Promise<readonly Finding[]> {
  const { backupFolder: folder, backupEveryHours: every } = config
  if (folder === undefined) return []
  const label = findLabel(folderAt(config.data))
  const findNewest = async () =>
    label && (await listBackupsUntil({ place: locationAt(folder, config), label }, now))[0]
  const newest = await findNewest().catch((cause) => {
    if (cause instanceof Fault) return cause
    throw cause
  })
  if (newest instanceof Fault) {
    return [problem("backups", newest.message, "fix that: no backups are created until then")]
  }
  const todo = "check the server log and that the server can write there"
  if (!newest) return [warning("backups", `there are no backups in ${folder} yet`, todo)]
  const hours = Math.floor((now - newest.made) / hourMs)
  const text = `the newest backup in ${folder} is ${hours} hours old`
  return [hours > 2 * every ? warning("backups", text, todo) : ok("backups", text)]
}
