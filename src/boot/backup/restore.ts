import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs"
import { basename, join } from "node:path"
import type { Config } from "../../kernel/config.ts"
import { readSnapshot } from "../../store/index.ts"
import { type Folder, openFolder } from "../folder/folder.ts"
import { takeLock } from "../folder/lock.ts"
import { findMasterKey } from "../folder/master-key.ts"
import { startError } from "../start-error.ts"
import { unpack } from "./archive.ts"
import { isInBucket, objectAt } from "./bucket.ts"
import { type Bytes, discard, syncFolder, writeNewFile } from "./bytes.ts"
import type { DecryptionKey } from "./encryption.ts"
import { withCleanupOnSignal } from "./interrupt.ts"
import { hasPart, type Manifest, parts } from "./manifest.ts"

export type RestoreRequest = {
  readonly config: Config
  /** A file, `s3://…`, or "-" for standard input. */
  readonly from: string
  readonly opening: DecryptionKey
}

/** The result of a restore; `hasMasterKey`: the key is present, so a server can start. */
export type RestoreResult = Manifest & { readonly hasMasterKey: boolean }

/** Reads a whole backup and returns its manifest. Changes nothing. */
export const readBackupManifest = async (request: RestoreRequest): Promise<Manifest> =>
  unpack(await openSource(request), request.opening, (_, fill) => fill(discard))

/**
 * Restores a backup into a data directory. Throws if the directory contains anything except the
 * configuration and the master key, which the operator can provide. Everything is verified and on
 * disk before the first file gets its final name. Until the last file has its final name, no server
 * starts, and another restore starts from the beginning.
 */
export async function restore(request: RestoreRequest): Promise<RestoreResult> {
  const existed = existsSync(request.config.data)
  const folder = openFolder(request.config.data)
  requireEmpty(folder)
  const lock = takeLock(folder)
  let isDone = false
  try {
    const restored = await withCleanupOnSignal([folder.restoring], () =>
      restoreInto(request, folder),
    )
    isDone = true
    return restored
  } finally {
    lock.release()
    if (!isDone && !existed) rmSync(folder.path, { recursive: true, force: true })
  }
}

async function restoreInto(request: RestoreRequest, folder: Folder): Promise<RestoreResult> {
  removeRestored(folder)
  mkdirSync(folder.restoring, { mode: 0o700 })
  let hasAll = false
  try {
    const manifest = await unpack(await openSource(request), request.opening, (part, fill) =>
      writeNewFile(join(folder.restoring, part), fill),
    )
    const { position } = readSnapshot(join(folder.restoring, "latchkey.db"))
    if (position !== manifest.position) throw positionMismatchError(position, manifest)
    requireMatchingKey(request, folder)
    hasAll = true
    await moveToTarget(folder, manifest)
    return { ...manifest, hasMasterKey: findMasterKey(folder, request.config) !== undefined }
  } finally {
    if (!hasAll) rmSync(folder.restoring, { recursive: true, force: true })
  }
}

/** A different key in the directory belongs to another backup. */
function requireMatchingKey({ config }: RestoreRequest, folder: Folder): void {
  const fingerprint = join(folder.restoring, basename(folder.fingerprint))
  findMasterKey({ ...folder, fingerprint }, config)
}

/**
 * The database is moved last, so its presence means that the restore is complete. Files from the
 * operator are kept.
 */
async function moveToTarget(folder: Folder, manifest: Manifest): Promise<void> {
  await syncFolder(folder.restoring)
  for (const part of parts.filter((each) => hasPart(manifest, each))) {
    const target = join(folder.path, part)
    if (existsSync(target)) rmSync(join(folder.restoring, part))
    else renameSync(join(folder.restoring, part), target)
    await syncFolder(folder.path)
  }
  rmdirSync(folder.restoring)
  await syncFolder(folder.path)
}

const operatorFiles = ["master.key", "latchkey.toml"]

/** Removes the files of an interrupted restore, which no server has used. */
function removeRestored(folder: Folder): void {
  if (!existsSync(folder.restoring)) return
  rmSync(folder.restoring, { recursive: true, force: true })
  for (const part of parts.filter((each) => !operatorFiles.includes(each))) {
    rmSync(join(folder.path, part), { force: true })
  }
}

function requireEmpty(folder: Folder): void {
  const halfDone = existsSync(folder.restoring)
    ? [basename(folder.restoring), ...parts]
    : [basename(folder.backupLock)]
  const expected = [
    ...[folder.lock, folder.lockHolder].map((each) => basename(each)),
    ...operatorFiles,
    ...halfDone,
  ]
  const found = readdirSync(folder.path).find((name) => !expected.includes(name))
  if (found === undefined) return
  throw startError(
    "restore_full",
    `${folder.path} is not empty: it contains ${found}; restore into another directory ` +
      "with --data DIR, or stop the server and move all files away first",
  )
}

async function openSource({ from, config, opening }: RestoreRequest): Promise<Bytes> {
  const isEncrypted = Object.keys(opening).length > 0
  if (isInBucket(from)) return objectAt(from, config, isEncrypted).bytes()
  if (from === "-") return Bun.stdin.stream()
  if (!existsSync(from)) throw startError("backup_missing", `file ${from} not found`)
  return Bun.file(from).stream()
}

const positionMismatchError = (position: number, manifest: Manifest) =>
  startError(
    "backup_damaged",
    `the manifest ends at event ${manifest.position}, but the database of the backup ends ` +
      `at ${position}; use another backup`,
  )

/** The contents of a backup as text for the terminal. */
export const formatManifest = (manifest: Manifest): string =>
  [
    `  Created ${manifest.made} by Latchkey ${manifest.latchkey}`,
    `  All events up to ${manifest.position} (${manifest.newest ?? "none"})`,
    hasPart(manifest, "master.key") ? "  With the master key" : "  Without the master key",
  ].join("\n")

/** The result of a restore and the next steps as text for the terminal. */
export function formatRestoreResult(restored: RestoreResult, { config }: RestoreRequest): string {
  const { data } = config
  const next = restored.hasMasterKey
    ? `  Start the server with: latchkey serve --data ${data}`
    : `  Copy the master key to ${join(data, "master.key")} before the first start.`
  return [
    formatManifest(restored),
    `  Restored into ${data}`,
    "  Emails that were unsent at the time of the backup are sent at the first start.",
    next,
  ].join("\n")
}
