import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs"
import { basename, join } from "node:path"
import type { Config } from "../../kernel/config.ts"
import { inSnapshot } from "../../store/index.ts"
import { type Folder, openFolder } from "../folder/folder.ts"
import { takeLock } from "../folder/lock.ts"
import { givenMasterKey } from "../folder/master-key.ts"
import { startError } from "../start-error.ts"
import { unpack } from "./archive.ts"
import { isInBucket, objectAt } from "./bucket.ts"
import { type Bytes, nowhere, syncFolder, writeNewFile } from "./bytes.ts"
import type { Opening } from "./encryption.ts"
import { unlessInterrupted } from "./interrupt.ts"
import { has, type Manifest, parts } from "./manifest.ts"

export type RestoreRequest = {
  readonly config: Config
  /** A file, `s3://…`, or "-" for standard input. */
  readonly from: string
  readonly opening: Opening
}

/** What was brought back; `isOpen`: the master key is there, so that a server can start on it. */
export type Restored = Manifest & { readonly isOpen: boolean }

/** Reads a backup from beginning to end, and says what it holds. Changes nothing. */
export const examine = async (request: RestoreRequest): Promise<Manifest> =>
  unpack(await bytesOf(request), request.opening, (_, fill) => fill(nowhere))

/**
 * Makes a data folder of a backup. Refuses a folder that holds anything but what an operator may
 * have put there before, the configuration and the master key. Everything is read, compared and on
 * disk before the first file gets its name; until the last one has its own, no server starts there,
 * and another restore begins anew.
 */
export async function restore(request: RestoreRequest): Promise<Restored> {
  const existed = existsSync(request.config.data)
  const folder = openFolder(request.config.data)
  refuseFull(folder)
  const lock = takeLock(folder)
  let isDone = false
  try {
    const restored = await unlessInterrupted([folder.restoring], () => bringBack(request, folder))
    isDone = true
    return restored
  } finally {
    lock.release()
    if (!isDone && !existed) rmSync(folder.path, { recursive: true, force: true })
  }
}

async function bringBack(request: RestoreRequest, folder: Folder): Promise<Restored> {
  clear(folder)
  mkdirSync(folder.restoring, { mode: 0o700 })
  let hasAll = false
  try {
    const manifest = await unpack(await bytesOf(request), request.opening, (part, fill) =>
      writeNewFile(join(folder.restoring, part), fill),
    )
    const { position } = inSnapshot(join(folder.restoring, "latchkey.db"))
    if (position !== manifest.position) throw otherPositionError(position, manifest)
    refuseOtherKey(request, folder)
    hasAll = true
    await settle(folder, manifest)
    return { ...manifest, isOpen: givenMasterKey(folder, request.config) !== undefined }
  } finally {
    if (!hasAll) rmSync(folder.restoring, { recursive: true, force: true })
  }
}

/** Whoever put another key there has another backup in mind. */
function refuseOtherKey({ config }: RestoreRequest, folder: Folder): void {
  const fingerprint = join(folder.restoring, basename(folder.fingerprint))
  givenMasterKey({ ...folder, fingerprint }, config)
}

/** The database last: where it is, all is. What an operator has put there before stays. */
async function settle(folder: Folder, manifest: Manifest): Promise<void> {
  await syncFolder(folder.restoring)
  for (const part of parts.filter((each) => has(manifest, each))) {
    const target = join(folder.path, part)
    if (existsSync(target)) rmSync(join(folder.restoring, part))
    else renameSync(join(folder.restoring, part), target)
    await syncFolder(folder.path)
  }
  rmdirSync(folder.restoring)
  await syncFolder(folder.path)
}

const keptByOperator = ["master.key", "latchkey.toml"]

/** What a restore that was cut off had brought: nobody has worked with it. */
function clear(folder: Folder): void {
  if (!existsSync(folder.restoring)) return
  rmSync(folder.restoring, { recursive: true, force: true })
  for (const part of parts.filter((each) => !keptByOperator.includes(each))) {
    rmSync(join(folder.path, part), { force: true })
  }
}

function refuseFull(folder: Folder): void {
  const halfDone = existsSync(folder.restoring)
    ? [basename(folder.restoring), ...parts]
    : [basename(folder.backupLock)]
  const expected = [
    ...[folder.lock, folder.lockHolder].map((each) => basename(each)),
    ...keptByOperator,
    ...halfDone,
  ]
  const found = readdirSync(folder.path).find((name) => !expected.includes(name))
  if (found === undefined) return
  throw startError(
    "restore_full",
    `${folder.path} is not empty, ${found} is there; restore into another with --data DIR, ` +
      "or stop the server and move everything away first",
  )
}

async function bytesOf({ from, config, opening }: RestoreRequest): Promise<Bytes> {
  const isEncrypted = Object.keys(opening).length > 0
  if (isInBucket(from)) return objectAt(from, config, isEncrypted).bytes()
  if (from === "-") return Bun.stdin.stream()
  if (!existsSync(from)) throw startError("backup_missing", `there is no file ${from}`)
  return Bun.file(from).stream()
}

const otherPositionError = (position: number, manifest: Manifest) =>
  startError(
    "backup_damaged",
    `the backup says that it goes up to event ${manifest.position}, and its database ends at ` +
      `${position}; use another one`,
  )

/** What a backup holds, for a person. */
export const manifestText = (manifest: Manifest): string =>
  [
    `  Made ${manifest.made} by Latchkey ${manifest.latchkey}`,
    `  Everything up to event ${manifest.position} (${manifest.newest ?? "none"})`,
    has(manifest, "master.key") ? "  With the master key" : "  Without the master key",
  ].join("\n")

/** What was brought back and what is left to do, for a person. */
export function restoredText(restored: Restored, { config }: RestoreRequest): string {
  const { data } = config
  const next = restored.isOpen
    ? `  Start it with: latchkey serve --data ${data}`
    : `  Put the master key into ${join(data, "master.key")} before the first start.`
  return [
    manifestText(restored),
    `  Restored into ${data}`,
    "  Mails that had not gone out when it was saved go out at the first start.",
    next,
  ].join("\n")
}
