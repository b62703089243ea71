import { accessSync, constants, mkdirSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import { startError, systemCode, systemReasons } from "../start-error.ts"

/** Everything that Latchkey keeps, by its place in the data folder. */
export type Folder = {
  readonly path: string
  readonly database: string
  /** What SQLite and the store keep beside it: where one of them is, there is data. */
  readonly besideDatabase: readonly string[]
  readonly lock: string
  /** The process that holds the lock, for messages only. */
  readonly lockHolder: string
  readonly masterKey: string
  readonly fingerprint: string
  /** That of the key that is about to take the master key's place. */
  readonly nextFingerprint: string
  readonly controlSocket: string
  /** The set-up link, as long as there is no owner; for containers whose output nobody sees. */
  readonly setupLink: string
  readonly configFile: string
  /** The certificates that the server gets by itself, their keys sealed. */
  readonly certificates: string
  /** Held by who makes a backup. */
  readonly backupLock: string
  /** Tells the backups of this folder from those of others. */
  readonly backupLabel: string
  /** The copy of the database that a backup is made of, while it is made. */
  readonly backupCopy: string
  /** Names the files that a backup is making. */
  readonly backupMade: string
  /** Held by who makes a self-check. */
  readonly doctorLock: string
  /** The backup that a self-check has restored, as long as it looks at it. */
  readonly doctorCopy: string
  /** Lies there where the folder is one for development. */
  readonly development: string
  /** What a restore that has not come to its end has brought so far. */
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

/** Makes the data folder, for its owner only, or refuses one that can't be written to. */
export function openFolder(data: string): Folder {
  const folder = folderAt(data)
  try {
    mkdirSync(folder.path, { recursive: true, mode: 0o700 })
    if (!statSync(folder.path).isDirectory()) throw unusable(folder.path, "it is not a folder")
    accessSync(folder.path, constants.R_OK | constants.W_OK | constants.X_OK)
    return folder
  } catch (error) {
    const because = systemReasons[systemCode(error)]
    throw because ? unusable(folder.path, because, error) : error
  }
}

function unusable(path: string, because: string, cause?: unknown) {
  return startError(
    "folder_unusable",
    `the data folder ${path} can't be used: ${because}; choose another with --data DIR`,
    cause,
  )
}
