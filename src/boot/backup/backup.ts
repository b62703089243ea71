import { existsSync, readFileSync, renameSync, rmSync, statfsSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { Clock } from "../../kernel/clock.ts"
import type { Config } from "../../kernel/config.ts"
import { formatSize } from "../../kernel/text/size.ts"
import { maxSnapshotSize, takeSnapshot } from "../../store/index.ts"
import { rejectDevelopment } from "../development.ts"
import { isRunning } from "../folder/claim.ts"
import { type Folder, folderAt } from "../folder/folder.ts"
import { lockFile, takeLock } from "../folder/lock.ts"
import { findMasterKey, formatMasterKey } from "../folder/master-key.ts"
import { canContainSecrets } from "../settings.ts"
import { startError } from "../start-error.ts"
import { type BackupSource, pack, unpack } from "./archive.ts"
import { isInBucket, objectAt } from "./bucket.ts"
import { type Bytes, discard, drain, syncFolder, writeError, writeNewFile } from "./bytes.ts"
import type { Encryption } from "./encryption.ts"
import { withCleanupOnSignal } from "./interrupt.ts"
import {
  dropLeftovers,
  dropRecordedFiles,
  recordTemporaryFiles,
  temporaryNameOf,
} from "./leftover.ts"
import { createManifest, hasPart, type Manifest, type Part } from "./manifest.ts"
import { writeStandardOutput } from "./standard-output.ts"

export type BackupRequest = {
  readonly config: Config
  readonly clock: Clock
  /** The destination: a new file, a new `s3://…` object, or "-" for standard output. */
  readonly to: string
  /** Whether the backup includes the master key, which is required to decrypt sealed values. */
  readonly withMasterKey: boolean
  readonly encryption: Encryption | undefined
  /** The directory for the temporary copy of the database, instead of the data directory. */
  readonly workFolder: string | undefined
  /** Called with problems that don't prevent the backup. */
  readonly warn: (text: string) => void
}

/** The manifest of a backup and the size of its file. */
export type BackupResult = Manifest & {
  readonly bytes: number
  /** Whether the configuration is not included because it contains or might contain secrets. */
  readonly withoutSettings: boolean
}

/** The free space to leave on a disk that the server may also write to. */
const spareBytes = 64 * 1024 * 1024

/**
 * Backs up a data directory, even while a server runs: the database is copied separately as of one
 * moment, without involving the server. The file gets its final name after all of it is on disk and
 * verified. Leaves nothing behind on errors.
 */
export async function backup(request: BackupRequest): Promise<BackupResult> {
  const folder = folderAt(request.config.data)
  await requireNewDestination(request)
  if (!existsSync(folder.database)) throw noDatabaseError(folder)
  // A restored directory has no marker that it was a development instance.
  rejectDevelopment(folder)
  const isInUse = await isRunning(folder)
  const locks = [lockFile(folder.backupLock, backupRunningError)]
  const copy = request.workFolder
    ? temporaryNameOf(join(resolve(request.workFolder), "latchkey-backup"))
    : folder.backupCopy
  try {
    // Prevents a server from starting during the backup, and handles what a crash left behind.
    if (!isInUse) locks.push(takeLock(folder))
    const isFile = request.to !== "-" && !isInBucket(request.to)
    const part = temporaryNameOf(request.to)
    const created = isFile ? [copy, part] : [copy]
    dropRecordedFiles(folder, request.warn)
    return await withCleanupOnSignal([...created, folder.backupMade], () =>
      createBackup(request, { folder, isInUse, copy, partialFile: part, temporaryFiles: created }),
    )
  } finally {
    rmSync(copy, { force: true })
    rmSync(folder.backupMade, { force: true })
    for (const lock of locks) lock.release()
  }
}

type SaveOptions = {
  readonly folder: Folder
  readonly isInUse: boolean
  /** The copy of the database. */
  readonly copy: string
  /** The incomplete backup file. */
  readonly partialFile: string
  /** The temporary files to remove if the backup fails. */
  readonly temporaryFiles: readonly string[]
}

async function createBackup(request: BackupRequest, options: SaveOptions): Promise<BackupResult> {
  const { folder, isInUse, copy, partialFile: part, temporaryFiles: created } = options
  const { to, clock, encryption } = request
  const database = { file: folder.database, isInUse }
  await dropLeftovers({ ...request, folder, isEncrypted: encryption !== undefined })
  requireFreeSpace(dirname(copy), maxSnapshotSize(database))
  recordTemporaryFiles(folder, created)
  const snapshot = takeSnapshot(database, copy)
  let manifest: Manifest | undefined
  const packed = await pack(
    createSources(request, options),
    (sums) => {
      manifest = createManifest(snapshot, sums, clock.now())
      return manifest
    },
    encryption,
  )
  const bytes =
    to === "-"
      ? await writeToStandardOutput(packed)
      : isInBucket(to)
        ? await writeToBucket(request, packed)
        : await writeToFile({ to, partialFile: part, encryption }, packed)
  if (!manifest) throw new Error("the backup ended before its manifest")
  const withoutSettings = textIn(folder.configFile) !== "" && !hasPart(manifest, "latchkey.toml")
  return { ...manifest, bytes, withoutSettings }
}

async function writeToStandardOutput(packed: Bytes): Promise<number> {
  return (await drain(packed, writeStandardOutput)).size
}

/** An object that is visible in a bucket is complete; it is verified anyway. */
async function writeToBucket({ to, config, encryption }: BackupRequest, packed: Bytes) {
  const object = objectAt(to, config, encryption !== undefined)
  const written = await object.write((sink) => drain(packed, sink))
  try {
    const read = await verify(await object.bytes(), encryption)
    if (read !== undefined && read !== written.sha256) throw mismatchError(to)
    return written.size
  } catch (cause) {
    await object.remove()
    throw cause
  }
}

type FileTarget = Pick<BackupRequest, "to" | "encryption"> & Pick<SaveOptions, "partialFile">

async function writeToFile({ to, partialFile: part, encryption }: FileTarget, packed: Bytes) {
  try {
    const written = await writeNewFile(part, (sink) => drain(packed, sink))
    const read = await verify(Bun.file(part).stream(), encryption)
    if (read !== undefined && read !== written.sha256) throw mismatchError(to)
    if (existsSync(to)) throw existsError(to)
    renameSync(part, to)
    await syncFolder(dirname(resolve(to)))
    return written.size
  } catch (cause) {
    rmSync(part, { force: true })
    throw writeError(cause, to)
  }
}

/**
 * Reads the backup as a restore would. If it is encrypted for recipients, only its checksum is
 * compared.
 */
async function verify(from: Bytes, encryption: Encryption | undefined) {
  if (encryption && "recipients" in encryption) return (await drain(from, discard)).sha256
  await unpack(from, encryption ?? {}, (_, fill) => fill(discard))
  return undefined
}

/** A configuration that contains secrets is included only together with the master key. */
function createSources(
  { config, withMasterKey }: BackupRequest,
  { folder, copy }: SaveOptions,
): BackupSource[] {
  const key = withMasterKey ? findMasterKey(folder, config) : undefined
  if (withMasterKey && !key) throw keyMissingError(folder)
  const settings = textIn(folder.configFile)
  const isKept = withMasterKey || !canContainSecrets(settings)
  return [
    ...textSource("master.key.fingerprint", textIn(folder.fingerprint)),
    ...textSource("master.key", key ? formatMasterKey(key) : ""),
    ...textSource("latchkey.toml", isKept ? settings : ""),
    ...textSource("certificates.json", textIn(folder.certificates)),
    { name: "latchkey.db", size: statSync(copy).size, bytes: () => Bun.file(copy).stream() },
  ]
}

function textSource(name: Part, text: string): BackupSource[] {
  const bytes = new Blob([text])
  return text === "" ? [] : [{ name, size: bytes.size, bytes: () => bytes.stream() }]
}

const textIn = (file: string) => (existsSync(file) ? readFileSync(file, "utf8") : "")

async function requireNewDestination({ to, config, encryption }: BackupRequest): Promise<void> {
  if (to === "-") return
  const exists = isInBucket(to)
    ? await objectAt(to, config, encryption !== undefined).exists()
    : existsSync(to)
  if (exists) throw existsError(to)
}

const existsError = (to: string) =>
  startError("backup_exists", `${to} already exists; choose another name or delete it`)

function requireFreeSpace(where: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(where)
  if (bavail * bsize >= bytes + spareBytes) return
  const needed = formatSize(bytes + spareBytes)
  throw startError(
    "backup_room",
    `a backup first copies the database, and ${where} does not have ${needed} of free ` +
      "space; free some space, or name a directory on another disk with --work-folder DIR",
  )
}

const noDatabaseError = (folder: Folder) =>
  startError(
    "backup_nothing",
    `no database found in ${folder.path}; name the data directory with --data DIR`,
  )

const backupRunningError = (cause: unknown) =>
  startError(
    "backup_busy",
    "another backup of this data directory is running; wait for it to finish",
    cause,
  )

const keyMissingError = (folder: Folder) =>
  startError("master_key_missing", `there is no master key in ${folder.path} to include`)

const mismatchError = (to: string) =>
  startError(
    "backup_unreadable",
    `the backup written to ${to} differs when read back; check the disk`,
  )

type BackupDestination = Pick<BackupRequest, "to" | "encryption">

const settingsMissingText =
  "  latchkey.toml is not included because it contains secrets or can't be read: keep a " +
  "copy of it, too."

/** The result of a backup as text for the terminal. */
export function formatBackupResult(
  saved: BackupResult,
  { to, encryption }: BackupDestination,
): string {
  const size = formatSize(saved.bytes)
  return [
    `  Saved ${to}: ${size}, all events up to ${saved.position} (${saved.newest ?? "none"})`,
    encryption
      ? "  The backup is encrypted: keep the passphrase or key, because no one can read the " +
        "backup without it."
      : "  The backup is not encrypted: protect it like all personal data.",
    hasPart(saved, "master.key")
      ? "  The backup includes the master key: anyone who can read it can decrypt all secrets."
      : "  The backup does not include the master key: keep a copy of master.key in another " +
        "place.",
    ...(saved.withoutSettings ? [settingsMissingText] : []),
  ].join("\n")
}
