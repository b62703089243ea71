import { accessSync, constants, mkdirSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import { startError, systemCode, systemReasons } from "../start-error.ts"

/** The paths of all files in the data directory. */
export type Folder = {
  readonly path: string
  readonly database: string
  /** Files that SQLite and the store create next to the database; if one exists, there is data. */
  readonly besideDatabase: readonly string[]
  readonly lock: string
  /** The process that holds the lock, only for messages. */
  readonly lockHolder: string
  readonly masterKey: string
  readonly fingerprint: string
  /** The fingerprint of the key that is replacing the master key. */
  readonly nextFingerprint: string
  readonly controlSocket: string
  /** The setup link while there is no owner, for containers whose output is not visible. */
  readonly setupLink: string
  readonly configFile: string
  /** The automatically obtained certificates with their sealed keys. */
  readonly certificates: string
  /** The lock held while a backup is created. */
  readonly backupLock: string
  /** The label that distinguishes the backups of this directory. */
  readonly backupLabel: string
  /** The temporary copy of the database for a backup. */
  readonly backupCopy: string
  /** The names of the temporary files of a backup. */
  readonly backupMade: string
  /** The lock held during a self-check. */
  readonly doctorLock: string
  /** The backup that a self-check has restored temporarily. */
  readonly doctorCopy: string
  /** The marker of a development instance. */
  readonly development: string
  /** The data of an incomplete restore. */
  readonly restoring: string
}

export function folderAt(data: string): Folder {
  const path = resolve(data)
  const database = join(path, "latchkey.db")
  return {
    path,
    database,
    besideDatabase: [`${database}-wal`, `${database}-mark`],
    lock: join(path, "lock"),
    lockHolder: join(path, "lock.pid"),
    masterKey: join(path, "master.key"),
    fingerprint: join(path, "master.key.fingerprint"),
    nextFingerprint: join(path, "master.key.fingerprint.next"),
    controlSocket: join(path, "control.sock"),
    setupLink: join(path, "setup-link"),
    configFile: join(path, "latchkey.toml"),
    certificates: join(path, "certificates.json"),
    backupLock: join(path, "backup.lock"),
    backupLabel: join(path, "backup.label"),
    backupCopy: join(path, "backup.part"),
    backupMade: join(path, "backup.made"),
    doctorLock: join(path, "doctor.lock"),
    doctorCopy: join(path, "doctor.part"),
    development: join(path, "development"),
    restoring: join(path, "restore.part"),
  }
}

/** Creates the data directory for its owner only; throws if it is not writable. */
export function openFolder(data: string): Folder {
  const folder = folderAt(data)
  try {
    mkdirSync(folder.path, { recursive: true, mode: 0o700 })
    if (!statSync(folder.path).isDirectory())
      throw unusableError(folder.path, "it is not a directory")
    accessSync(folder.path, constants.R_OK | constants.W_OK | constants.X_OK)
    return folder
  } catch (error) {
    const reason = systemReasons[systemCode(error)]
    throw reason ? unusableError(folder.path, reason, error) : error
  }
}

function unusableError(path: string, reason: string, cause?: unknown) {
  return startError(
    "folder_unusable",
    `the data directory ${path} can't be used: ${reason}; choose another one with --data DIR`,
    cause,
  )
}
