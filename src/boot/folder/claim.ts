import { existsSync } from "node:fs"
import type { Config } from "../../kernel/config.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import { Fault } from "../../kernel/fault.ts"
import { sendCommand } from "../control.ts"
import { startError } from "../start-error.ts"
import { dropDoctorCopy } from "./doctor-copy.ts"
import { type Folder, openFolder } from "./folder.ts"
import { folderInUseError, takeLock } from "./lock.ts"
import { loadMasterKey } from "./master-key.ts"

/** A data directory that this process owns, and its master key. */
export type FolderClaim = {
  readonly folder: Folder
  readonly master: Uint8Array
  readonly release: () => void
}

/**
 * Makes this process the only owner of its data directory. Throws, without changing anything, if
 * another process owns it, if it is not writable, or if the master key of its database is missing
 * or wrong.
 */
export async function claimFolder(config: Config, random: Random): Promise<FolderClaim> {
  const folder = openFolder(config.data)
  const lock = takeLock(folder)
  try {
    // The lock file of a running server can be deleted, but its socket still responds.
    if (await isRunning(folder)) throw folderInUseError(folder)
    requireCompleteRestore(folder)
    dropDoctorCopy(folder)
    return { folder, master: loadMasterKey(folder, config, random), release: lock.release }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Throws if the directory contains an incomplete restore. */
function requireCompleteRestore(folder: Folder): void {
  if (!existsSync(folder.restoring)) return
  throw startError(
    "restore_unfinished",
    `a restore into ${folder.path} was not completed; run latchkey restore again`,
  )
}

/** Whether a server responds on the socket of the directory. */
export async function isRunning(folder: Folder): Promise<boolean> {
  try {
    await sendCommand(folder, "status")
    return true
  } catch (error) {
    if (error instanceof Fault && error.id === "start.not_running") return false
    throw error
  }
}
