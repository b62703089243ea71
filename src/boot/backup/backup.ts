import { existsSync, readFileSync, renameSync, rmSync, statfsSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { Clock } from "../../kernel/clock.ts"
import type { Config } from "../../kernel/config.ts"
import { sizeText } from "../../kernel/text/size.ts"
import { snapshotSize, takeSnapshot } from "../../store/index.ts"
import { refuseDevelopment } from "../development.ts"
import { isRunning } from "../folder/claim.ts"
import { type Folder, folderAt } from "../folder/folder.ts"
import { lockFile, takeLock } from "../folder/lock.ts"
import { givenMasterKey, masterKeyText } from "../folder/master-key.ts"
import { maySayTooMuch } from "../settings.ts"
import { startError } from "../start-error.ts"
import { pack, type Source, unpack } from "./archive.ts"
import { isInBucket, objectAt } from "./bucket.ts"
import { type Bytes, drain, nowhere, syncFolder, writeError, writeNewFile } from "./bytes.ts"
import type { Encryption } from "./encryption.ts"
import { unlessInterrupted } from "./interrupt.ts"
import { dropLeftovers, dropMade, noteMade, partOf } from "./leftover.ts"
import { has, type Manifest, manifestOf, type Part } from "./manifest.ts"
import { standardOutput } from "./standard-output.ts"

export type BackupRequest = {
  readonly config: Config
  readonly clock: Clock
  /** Where it goes: a file or `s3://…` that is not there yet, or "-" for standard output. */
  readonly to: string
  /** Whether the master key goes into it, without which nothing sealed can be opened. */
  readonly withMasterKey: boolean
  readonly encryption: Encryption | undefined
  /** Where the copy of the database lies meanwhile, instead of the data folder. */
  readonly workFolder: string | undefined
  /** Is told what went otherwise than it should, though the backup is made. */
  readonly warn: (text: string) => void
}

/** What was saved, and how long the file is that holds it. */
export type Saved = Manifest & {
  readonly bytes: number
  /** Whether the configuration stayed out of it, for the secrets that it holds or may hold. */
  readonly withoutSettings: boolean
}

/** What is left free on a disk that the server may write to, too. */
const spareBytes = 64 * 1024 * 1024

/**
 * Saves a data folder, also while a server runs on it: that one is not asked for anything, for the
 * database is read beside it, as of one moment. The file gets its name when all of it is on disk
 * and has been read again. Faults with nothing left behind.
 */
export async function backup(request: BackupRequest): Promise<Saved> {
  const folder = folderAt(request.config.data)
  await refuseExisting(request)
  if (!existsSync(folder.database)) throw nothingError(folder)
  // What is brought back elsewhere has no mark any more that says what it was.
  refuseDevelopment(folder)
  const isInUse = await isRunning(folder)
  const locks = [lockFile(folder.backupLock, busyError)]
  const copy = request.workFolder
    ? partOf(join(resolve(request.workFolder), "latchkey-backup"))
    : folder.backupCopy
  try {
    // Nobody starts on it halfway, and what a crash has left is looked at first.
    if (!isInUse) locks.push(takeLock(folder))
    const isFile = request.to !== "-" && !isInBucket(request.to)
    const part = partOf(request.to)
    const made = isFile ? [copy, part] : [copy]
    dropMade(folder, request.warn)
    return await unlessInterrupted([...made, folder.backupMade], () =>
      save(request, { folder, isInUse, copy, part, made }),
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
  /** Of the database. */
  readonly copy: string
  /** The backup as long as it is not all there. */
  readonly part: string
  /** The files that are in the way until it is. */
  readonly made: readonly string[]
}

async function save(request: BackupRequest, options: SaveOptions): Promise<Saved> {
  const { folder, isInUse, copy, part, made } = options
  const { to, clock, encryption } = request
  const database = { file: folder.database, isInUse }
  await dropLeftovers({ ...request, folder, isEncrypted: encryption !== undefined })
  refuseWithoutRoom(dirname(copy), snapshotSize(database))
  noteMade(folder, made)
  const snapshot = takeSnapshot(database, copy)
  let manifest: Manifest | undefined
  const packed = await pack(
    sourcesOf(request, options),
    (sums) => {
      manifest = manifestOf(snapshot, sums, clock.now())
      return manifest
    },
    encryption,
  )
  const bytes =
    to === "-"
      ? await toStandardOutput(packed)
      : isInBucket(to)
        ? await toBucket(request, packed)
        : await toFile({ to, part, encryption }, packed)
  if (!manifest) throw new Error("a backup came to its end before its list of contents")
  const withoutSettings = textIn(folder.configFile) !== "" && !has(manifest, "latchkey.toml")
  return { ...manifest, bytes, withoutSettings }
}

async function toStandardOutput(packed: Bytes): Promise<number> {
  return (await drain(packed, standardOutput)).size
}

/** What a bucket shows under this name is whole; it is read again all the same. */
async function toBucket({ to, config, encryption }: BackupRequest, packed: Bytes) {
  const object = objectAt(to, config, encryption !== undefined)
  const written = await object.fill((sink) => drain(packed, sink))
  try {
    const read = await verify(await object.bytes(), encryption)
    if (read !== undefined && read !== written.sha256) throw unreadableError(to)
    return written.size
  } catch (cause) {
    await object.remove()
    throw cause
  }
}

type Target = Pick<BackupRequest, "to" | "encryption"> & Pick<SaveOptions, "part">

async function toFile({ to, part, encryption }: Target, packed: Bytes) {
  try {
    const written = await writeNewFile(part, (sink) => drain(packed, sink))
    const read = await verify(Bun.file(part).stream(), encryption)
    if (read !== undefined && read !== written.sha256) throw unreadableError(to)
    if (existsSync(to)) throw existsError(to)
    renameSync(part, to)
    await syncFolder(dirname(resolve(to)))
    return written.size
  } catch (cause) {
    rmSync(part, { force: true })
    throw writeError(cause, to)
  }
}

/** Reads it as a restore would. What only others can open is compared as it is: its sum. */
async function verify(from: Bytes, encryption: Encryption | undefined) {
  if (encryption && "recipients" in encryption) return (await drain(from, nowhere)).sha256
  await unpack(from, encryption ?? {}, (_, fill) => fill(nowhere))
  return undefined
}

/** A configuration with secrets is kept only where the one that opens all is kept, too. */
function sourcesOf(
  { config, withMasterKey }: BackupRequest,
  { folder, copy }: SaveOptions,
): Source[] {
  const key = withMasterKey ? givenMasterKey(folder, config) : undefined
  if (withMasterKey && !key) throw keyMissingError(folder)
  const settings = textIn(folder.configFile)
  const isKept = withMasterKey || !maySayTooMuch(settings)
  return [
    ...textSource("master.key.fingerprint", textIn(folder.fingerprint)),
    ...textSource("master.key", key ? masterKeyText(key) : ""),
    ...textSource("latchkey.toml", isKept ? settings : ""),
    ...textSource("certificates.json", textIn(folder.certificates)),
    { name: "latchkey.db", size: statSync(copy).size, bytes: () => Bun.file(copy).stream() },
  ]
}

function textSource(name: Part, text: string): Source[] {
  const bytes = new Blob([text])
  return text === "" ? [] : [{ name, size: bytes.size, bytes: () => bytes.stream() }]
}

const textIn = (file: string) => (existsSync(file) ? readFileSync(file, "utf8") : "")

async function refuseExisting({ to, config, encryption }: BackupRequest): Promise<void> {
  if (to === "-") return
  const exists = isInBucket(to)
    ? await objectAt(to, config, encryption !== undefined).exists()
    : existsSync(to)
  if (exists) throw existsError(to)
}

const existsError = (to: string) =>
  startError("backup_exists", `${to} exists already; choose another name, or remove it`)

function refuseWithoutRoom(where: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(where)
  if (bavail * bsize >= bytes + spareBytes) return
  const needed = sizeText(bytes + spareBytes)
  throw startError(
    "backup_room",
    `a backup copies the database first, and ${where} has no ${needed} free; ` +
      "free some space, or name a folder on another disk with --work-folder DIR",
  )
}

const nothingError = (folder: Folder) =>
  startError(
    "backup_nothing",
    `there is no database in ${folder.path}; name the data folder with --data DIR`,
  )

const busyError = (cause: unknown) =>
  startError("backup_busy", "another backup of this folder is being made; wait for it", cause)

const keyMissingError = (folder: Folder) =>
  startError("master_key_missing", `there is no master key in ${folder.path} to include`)

const unreadableError = (to: string) =>
  startError("backup_unreadable", `what was written to ${to} reads otherwise; check the disk`)

type Told = Pick<BackupRequest, "to" | "encryption">

const settingsMissingText =
  "  latchkey.toml is not in it, for it has secrets or can't be read: keep a copy of that, too."

/** What is saved, for the person who asked. */
export function savedText(saved: Saved, { to, encryption }: Told): string {
  const size = sizeText(saved.bytes)
  return [
    `  Saved ${to}: ${size}, everything up to event ${saved.position} (${saved.newest ?? "none"})`,
    encryption
      ? "  It is encrypted: without what opens it nobody can read it, you neither."
      : "  It is not encrypted: keep it where you would keep people's names and addresses.",
    has(saved, "master.key")
      ? "  The master key is in it: whoever reads it holds every secret."
      : "  The master key is not in it: keep a copy of master.key in another place.",
    ...(saved.withoutSettings ? [settingsMissingText] : []),
  ].join("\n")
}
