import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Config } from "../../../kernel/config.ts"
import type { Random } from "../../../kernel/crypto/random.ts"
import { Fault } from "../../../kernel/fault.ts"
import { formatSize } from "../../../kernel/text/size.ts"
import { lowerThreadPriority } from "../../../runtime/thread.ts"
import type { DecryptionKey } from "../../backup/encryption.ts"
import { withCleanupOnSignal } from "../../backup/interrupt.ts"
import { restore } from "../../backup/restore.ts"
import { claimFolder, type FolderClaim } from "../../folder/claim.ts"
import type { Folder } from "../../folder/folder.ts"
import { findMasterKey } from "../../folder/master-key.ts"
import { type Finding, ok, problem, warning } from "../finding.ts"
import { type FreeSpaceAt, sizeOf } from "./disk-space.ts"

export type RestoreOptions = {
  readonly config: Config
  readonly folder: Folder
  readonly random: Random
  /** A file or s3://…; undefined if there is no backup. */
  readonly from: string | undefined
  readonly opening: DecryptionKey
  readonly roomAt: FreeSpaceAt
  /** Opens a data directory and checks everything in it. */
  readonly drill: (claim: FolderClaim, config: Config) => Promise<DrillResult>
}

export type DrillResult = { readonly instances: number; readonly signatures: number }

/**
 * Restores a backup inside the data directory, where only its owner can read it, verifies all
 * checksums, opens it and deletes it. The caller holds the lock.
 */
export async function checkRestore(options: RestoreOptions): Promise<readonly Finding[]> {
  const { folder, from } = options
  if (from === undefined) {
    const todo = "set backup_folder, or name a backup with --backup FILE"
    return [warning("restore", "no backup found", todo)]
  }
  const lack = checkFreeSpace(options, from)
  if (lack) return [lack]
  // Lowers the priority so that sign-ins are not delayed.
  lowerThreadPriority(15)
  try {
    mkdirSync(folder.doctorCopy, { mode: 0o700 })
    return await withCleanupOnSignal([folder.doctorCopy], () => restoreAndCheck(options, from))
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    if (cause.id === "start.backup_locked") {
      const todo =
        "use --passphrase-file or --identity-file, or test the backup with restore --drill"
      return [warning("restore", `${from} is encrypted and was not opened`, todo)]
    }
    const todo = "create another backup now, and check why this one is damaged"
    return [problem("restore", `${from}: ${cause.message}`, todo)]
  } finally {
    rmSync(folder.doctorCopy, { recursive: true, force: true })
  }
}

/** The copy must not use up the disk space of the running server. */
function checkFreeSpace({ folder, roomAt }: RestoreOptions, from: string): Finding | undefined {
  // The unpacked data can be several times larger.
  const needed = Math.max(sizeOf(folder.database) * 1.2, sizeOf(from) * 4) + reserveBytes
  const { bytes } = roomAt(folder.path)
  if (bytes >= needed) return undefined
  const room = `requires ${formatSize(needed)} in ${folder.path}, but ${formatSize(bytes)} are free`
  const reported = `not tested: the copy ${room}`
  const command = `latchkey restore ${from} --drill --work-folder DIR`
  const todo = `run ${command} with a directory on a larger disk`
  return warning("restore", reported, todo)
}

const reserveBytes = 256e6

async function restoreAndCheck(
  { config, folder, random, opening, drill }: RestoreOptions,
  from: string,
): Promise<readonly Finding[]> {
  const data = join(folder.doctorCopy, "data")
  const manifest = await restore({ config: { ...config, data }, from, opening })
  const masterKey = manifest.hasMasterKey ? undefined : findMasterKey(folder, config)
  const restoreConfig = {
    ...config,
    data,
    ...(masterKey && { masterKey, masterKeyFile: undefined }),
  }
  const claim = await claimFolder(restoreConfig, random)
  try {
    const { instances, signatures } = await drill(claim, restoreConfig)
    const counts = `${manifest.position} events, ${instances} instances, ${signatures} signing keys`
    return [ok("restore", `${from} of ${manifest.made} is intact: ${counts}`)]
  } finally {
    claim.release()
  }
}
