import { readFileSync } from "node:fs"
import { startError, systemCode } from "../start-error.ts"
import type { Bytes } from "./bytes.ts"

/** How a backup is encrypted: with a passphrase, or for the public keys of recipients. */
export type Encryption =
  /** `workFactor` is the base-2 logarithm of scrypt's N. */
  | { readonly passphrase: string; readonly workFactor?: number }
  | { readonly recipients: readonly string[] }

/** What decrypts a backup: a passphrase, or the keys from an age-keygen file. */
export type DecryptionKey = {
  readonly passphrase?: string
  readonly identities?: readonly string[]
}

/** The first line of an age file (https://age-encryption.org/v1). */
export const ageHeader = "age-encryption.org/v1\n"

/**
 * N = 2^17, as OWASP recommends for scrypt: it needs 128 MiB of memory, half of what age's default
 * of 18 needs.
 */
const defaultWorkFactor = 17

/** Encrypts in the age format, so that other tools can decrypt it. */
export async function encrypt(plain: Bytes, encryption: Encryption): Promise<Bytes> {
  const { Encrypter } = await import("age-encryption")
  const encrypter = new Encrypter()
  if ("passphrase" in encryption) {
    encrypter.setScryptWorkFactor(encryption.workFactor ?? defaultWorkFactor)
    encrypter.setPassphrase(encryption.passphrase)
  } else for (const recipient of encryption.recipients) addRecipient(encrypter, recipient)
  return encrypter.encrypt(plain)
}

function addRecipient(encrypter: { addRecipient(key: string): void }, recipient: string): void {
  try {
    encrypter.addRecipient(recipient)
  } catch (cause) {
    const requirement = "a public key of age that starts with age1"
    throw startError("recipient_invalid", `--recipient must be ${requirement}`, cause)
  }
}

/** Decrypts what `encrypt` created. Throws if no key fits. */
export async function decrypt(sealed: Bytes, opening: DecryptionKey): Promise<Bytes> {
  const { passphrase, identities = [] } = opening
  if (passphrase === undefined && identities.length === 0) throw encryptedError()
  const { Decrypter } = await import("age-encryption")
  const decrypter = new Decrypter()
  if (passphrase !== undefined) decrypter.addPassphrase(passphrase)
  for (const identity of identities) decrypter.addIdentity(identity)
  try {
    return await decrypter.decrypt(sealed)
  } catch (cause) {
    const keyName = passphrase === undefined ? "the key" : "the passphrase"
    throw startError(
      "backup_locked",
      `${keyName} does not decrypt this backup; check that it belongs to this backup`,
      cause,
    )
  }
}

const encryptedError = () =>
  startError(
    "backup_locked",
    "the backup is encrypted; name the key with --passphrase-file or --identity-file",
  )

/** Reads the secret keys from an age-keygen file. */
export function readIdentities(file: string): readonly string[] {
  const lines = readText(file).split("\n")
  const keys = lines.map((line) => line.trim()).filter((line) => /^AGE-SECRET-KEY-/.test(line))
  if (keys.length > 0) return keys
  throw startError(
    "identity_invalid",
    `${file} does not contain an age secret key (AGE-SECRET-KEY-…)`,
  )
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    throw startError("file_unreadable", `${file} can't be read (${systemCode(error)})`, error)
  }
}
