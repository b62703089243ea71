import { existsSync } from "node:fs"
import type { Config } from "../../kernel/config.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import { Fault } from "../../kernel/fault.ts"
import { ask } from "../control.ts"
import { startError } from "../start-error.ts"
import { dropDoctorCopy } from "./doctor-copy.ts"
import { type Folder, openFolder } from "./folder.ts"
import { ownedByOther, takeLock } from "./lock.ts"
import { masterKeyOf } from "./master-key.ts"

/** A data folder that belongs to this process, and the key to it. */
export type Claim = {
  readonly folder: Folder
  readonly master: Uint8Array
  readonly release: () => void
}

/**
 * Makes this process the only owner of its data folder. Refuses, with nothing touched, a folder
 * that is another's or can't be written to, and a database whose key is missing or another.
 */
export async function claimFolder(config: Config, random: Random): Promise<Claim> {
  const folder = openFolder(config.data)
  const lock = takeLock(folder)
  try {
    // Someone may have removed the lock file of a running server: its socket still answers.
    if (await isRunning(folder)) throw ownedByOther(folder)
    refuseHalfRestored(folder)
    dropDoctorCopy(folder)
    return { folder, master: masterKeyOf(folder, config, random), release: lock.release }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** What lies there is a part of something. */
function refuseHalfRestored(folder: Folder): void {
  if (!existsSync(folder.restoring)) return
  throw startError(
    "restore_unfinished",
    `a backup was being restored into ${folder.path} and did not come to its end; ` +
      "run latchkey restore again",
  )
}

/** Whether a server answers on the folder's socket. */
export async function isRunning(folder: Folder): Promise<boolean> {
  try {
    await ask(folder, "status")
    return true
  } catch (error) {
    if (error instanceof Fault && error.id === "start.not_running") return false
    throw error
  }
}
