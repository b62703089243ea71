import { existsSync, readFileSync, rmSync, statSync } from "node:fs"
import { type Config, masterKeyBytes } from "../../kernel/config.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import { fingerprint, keyLength } from "../../kernel/crypto/secret.ts"
import { startError, systemCode } from "../start-error.ts"
import { writeDurably } from "./durable.ts"
import type { Folder } from "./folder.ts"

/**
 * The master key: given by configuration, or the file beside the database, which the first start
 * makes. Refuses a database without its key, and any key but the one whose fingerprint lies there.
 * The caller holds the lock.
 */
export function masterKeyOf(
  folder: Folder,
  config: Pick<Config, "masterKey" | "masterKeyFile">,
  random: Random,
): Uint8Array {
  const key = givenMasterKey(folder, config)
  const isNew = readIfThere(folder.fingerprint) === undefined && !holdsData(folder)
  if (!key && !isNew) throw missing(folder)
  const master = key ?? makeKey(folder, random)
  // Beside a database the key proves itself when it opens what lies in there.
  if (isNew) writeDurably(folder.fingerprint, `${fingerprint(master)}\n`)
  settleFingerprint(folder, master)
  return master
}

/** The key that came is the one that stays; see `replaceMasterKey`. */
function settleFingerprint(folder: Folder, master: Uint8Array): void {
  const next = readIfThere(folder.nextFingerprint)?.trim()
  if (next === undefined) return
  if (next === fingerprint(master)) writeDurably(folder.fingerprint, `${next}\n`)
  rmSync(folder.nextFingerprint)
}

/**
 * Puts another key in the master key's place. The data keys must have been laid down under both:
 * wherever this breaks off, one whole key lies there, and it is taken. The caller holds the lock.
 */
export function replaceMasterKey(
  folder: Folder,
  { masterKeyFile = folder.masterKey }: Pick<Config, "masterKeyFile">,
  key: Uint8Array,
): void {
  writeDurably(folder.nextFingerprint, `${fingerprint(key)}\n`)
  writeDurably(masterKeyFile, masterKeyText(key))
  settleFingerprint(folder, key)
}

/** The same, where there is one: makes none. */
export function givenMasterKey(
  folder: Folder,
  config: Pick<Config, "masterKey" | "masterKeyFile">,
): Uint8Array | undefined {
  const expected = [folder.fingerprint, folder.nextFingerprint].flatMap(
    (file) => readIfThere(file)?.trim() ?? [],
  )
  const key = config.masterKey ?? keyIn(config.masterKeyFile ?? folder.masterKey)
  if (key && expected.length > 0 && !expected.includes(fingerprint(key))) throw wrong(folder)
  if (!key && config.masterKeyFile) {
    throw startError("master_key_missing", `there is no master key at ${config.masterKeyFile}`)
  }
  return key
}

/** The master key's file, where others than its owner may use it. */
export type ExposedKey = {
  readonly file: string
  readonly mode: string
  /** Beside the data nobody else has a reason to; elsewhere whoever mounts secrets may have one. */
  readonly isBesideData: boolean
}

export function exposedKey(
  folder: Folder,
  config: Pick<Config, "masterKey" | "masterKeyFile">,
): ExposedKey | undefined {
  const file = config.masterKeyFile ?? folder.masterKey
  const mode = config.masterKey ? 0 : (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o777
  if ((mode & 0o077) === 0) return undefined
  return { file, mode: mode.toString(8).padStart(4, "0"), isBesideData: file === folder.masterKey }
}

/** How a key stands in its file. */
export const masterKeyText = (key: Uint8Array): string => `${Buffer.from(key).toString("base64")}\n`

const holdsData = (folder: Folder) => [folder.database, ...folder.besideDatabase].some(existsSync)

function makeKey(folder: Folder, random: Random): Uint8Array {
  const key = new Uint8Array(random.bytes(keyLength))
  writeDurably(folder.masterKey, masterKeyText(key))
  return key
}

function keyIn(file: string): Uint8Array | undefined {
  const text = readIfThere(file)
  if (text === undefined) return undefined
  const key = masterKeyBytes(text)
  if (key) return key
  throw startError("master_key_malformed", `${file} does not hold a key of 32 bytes in base64`)
}

function missing(folder: Folder) {
  return startError(
    "master_key_missing",
    `the data in ${folder.path} is sealed and its master key is not there; put ` +
      `${folder.masterKey} back, or give the key with LATCHKEY_MASTER_KEY or --master-key-file`,
  )
}

function wrong(folder: Folder) {
  return startError(
    "master_key_wrong",
    `the data in ${folder.path} was sealed with another master key than the one given; ` +
      `start with the key whose fingerprint is in ${folder.fingerprint}`,
  )
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined
    throw startError("file_unreadable", `${file} can't be read (${systemCode(error)})`, error)
  }
}
