import { existsSync, readFileSync, rmSync, statSync } from "node:fs"
import { type Config, parseMasterKey } from "../../kernel/config.ts"
import type { Random } from "../../kernel/crypto/random.ts"
import { fingerprint, keyLength } from "../../kernel/crypto/secret.ts"
import { startError, systemCode } from "../start-error.ts"
import { writeDurably } from "./durable.ts"
import type { Folder } from "./folder.ts"

/**
 * The master key: from the configuration, or from the file next to the database, which the first
 * start creates. Throws if the key of an existing database is missing or does not match its
 * fingerprint. The caller holds the lock.
 */
export function loadMasterKey(
  folder: Folder,
  config: Pick<Config, "masterKey" | "masterKeyFile">,
  random: Random,
): Uint8Array {
  const key = findMasterKey(folder, config)
  const isNew = readIfExists(folder.fingerprint) === undefined && !hasData(folder)
  if (!key && !isNew) throw missingKeyError(folder)
  const master = key ?? createKey(folder, random)
  // The key of an existing database is proven when it decrypts the data.
  if (isNew) writeDurably(folder.fingerprint, `${fingerprint(master)}\n`)
  saveFingerprint(folder, master)
  return master
}

/** Makes the fingerprint of the current key permanent; see `replaceMasterKey`. */
function saveFingerprint(folder: Folder, master: Uint8Array): void {
  const next = readIfExists(folder.nextFingerprint)?.trim()
  if (next === undefined) return
  if (next === fingerprint(master)) writeDurably(folder.fingerprint, `${next}\n`)
  rmSync(folder.nextFingerprint)
}

/**
 * Replaces the master key. The data keys must already be sealed with both keys: after an
 * interruption at any point, one complete key remains and is used. The caller holds the lock.
 */
export function replaceMasterKey(
  folder: Folder,
  { masterKeyFile = folder.masterKey }: Pick<Config, "masterKeyFile">,
  key: Uint8Array,
): void {
  writeDurably(folder.nextFingerprint, `${fingerprint(key)}\n`)
  writeDurably(masterKeyFile, formatMasterKey(key))
  saveFingerprint(folder, key)
}

/** The same as `masterKeyOf`, but does not create a key. */
export function findMasterKey(
  folder: Folder,
  config: Pick<Config, "masterKey" | "masterKeyFile">,
): Uint8Array | undefined {
  const expected = [folder.fingerprint, folder.nextFingerprint].flatMap(
    (file) => readIfExists(file)?.trim() ?? [],
  )
  const key = config.masterKey ?? readKey(config.masterKeyFile ?? folder.masterKey)
  if (key && expected.length > 0 && !expected.includes(fingerprint(key)))
    throw wrongKeyError(folder)
  if (!key && config.masterKeyFile) {
    throw startError("master_key_missing", `no master key found at ${config.masterKeyFile}`)
  }
  return key
}

/** The master key file if users other than its owner can access it. */
export type ExposedKey = {
  readonly file: string
  readonly mode: string
  /** Next to the data, no other user needs access; elsewhere, mounted secrets can require it. */
  readonly isBesideData: boolean
}

export function findExposedKey(
  folder: Folder,
  config: Pick<Config, "masterKey" | "masterKeyFile">,
): ExposedKey | undefined {
  const file = config.masterKeyFile ?? folder.masterKey
  const mode = config.masterKey ? 0 : (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o777
  if ((mode & 0o077) === 0) return undefined
  return { file, mode: mode.toString(8).padStart(4, "0"), isBesideData: file === folder.masterKey }
}

/** The text of a key file. */
export const formatMasterKey = (key: Uint8Array): string =>
  `${Buffer.from(key).toString("base64")}\n`

const hasData = (folder: Folder) => [folder.database, ...folder.besideDatabase].some(existsSync)

function createKey(folder: Folder, random: Random): Uint8Array {
  const key = new Uint8Array(random.bytes(keyLength))
  writeDurably(folder.masterKey, formatMasterKey(key))
  return key
}

function readKey(file: string): Uint8Array | undefined {
  const text = readIfExists(file)
  if (text === undefined) return undefined
  const key = parseMasterKey(text)
  if (key) return key
  throw startError("master_key_malformed", `${file} does not contain a 32-byte key in base64`)
}

function missingKeyError(folder: Folder) {
  return startError(
    "master_key_missing",
    `the data in ${folder.path} is sealed and its master key is missing; restore ` +
      `${folder.masterKey}, or set LATCHKEY_MASTER_KEY or --master-key-file`,
  )
}

function wrongKeyError(folder: Folder) {
  return startError(
    "master_key_wrong",
    `the data in ${folder.path} was sealed with another master key; start with the key ` +
      `whose fingerprint is in ${folder.fingerprint}`,
  )
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined
    throw startError("file_unreadable", `${file} can't be read (${systemCode(error)})`, error)
  }
}
