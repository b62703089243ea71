import type { Config } from "../../kernel/config.ts"
import { Fault } from "../../kernel/fault.ts"
import { placeAt } from "../backup/place.ts"
import { backupsUntil, knownLabel } from "../backup/rotation.ts"
import { folderAt } from "../folder/folder.ts"
import { type Finding, ok, warning, wrong } from "./finding.ts"

const hourMs = 3_600_000

/** Where backups are made by themselves, whether they really are. */
export async function checkBackups(config: Config, now: number): Promise<readonly Finding[]> {
  const { backupFolder: folder, backupEveryHours: every } = config
  if (folder === undefined) return []
  const label = knownLabel(folderAt(config.data))
  const look = async () =>
    label && (await backupsUntil({ place: placeAt(folder, config), label }, now))[0]
  const newest = await look().catch((cause) => {
    if (cause instanceof Fault) return cause
    throw cause
  })
  if (newest instanceof Fault) {
    return [wrong("backups", newest.message, "mend that: none is made until then")]
  }
  const todo = "see the server's log, and that it may write there"
  if (!newest) return [warning("backups", `there is none in ${folder} yet`, todo)]
  const hours = Math.floor((now - newest.made) / hourMs)
  const said = `the newest in ${folder} is ${hours} hours old`
  return [hours > 2 * every ? warning("backups", said, todo) : ok("backups", said)]
}
