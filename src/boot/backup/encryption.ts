import { readFileSync } from "node:fs"
import { startError, systemCode } from "../start-error.ts"
import type { Bytes } from "./bytes.ts"

/** Who may read a backup: whoever has the passphrase, or the key of one of the recipients. */
export type Encryption =
  /** `workFactor` is the logarithm of scrypt's N. */
  | { readonly passphrase: string; readonly workFactor?: number }
  | { readonly recipients: readonly string[] }

/** What to open a backup with: a passphrase, or the file that age-keygen made. */
export type Opening = { readonly passphrase?: string; readonly identities?: readonly string[] }

/** How a file of age begins (https://age-encryption.org/v1). */
export const ageHeader = "age-encryption.org/v1\n"

/** N = 2^17, as OWASP asks of scrypt: 128 MiB for a moment, where the usual 18 takes twice that. */
const usualWorkFactor = 17

/** Encrypts in the format of age, so that other tools can open it. */
export async function encrypted(plain: Bytes, encryption: Encryption): Promise<Bytes> {
  const { Encrypter } = await import("age-encryption")
  const encrypter = new Encrypter()
  if ("passphrase" in encryption) {
    encrypter.setScryptWorkFactor(encryption.workFactor ?? usualWorkFactor)
    encrypter.setPassphrase(encryption.passphrase)
  } else for (const recipient of encryption.recipients) addRecipient(encrypter, recipient)
  return encrypter.encrypt(plain)
}

function addRecipient(encrypter: { addRecipient(key: string): void }, recipient: string): void {
  try {
    encrypter.addRecipient(recipient)
  } catch (cause) {
    const wanted = "a public key of age, which begins with age1"
    throw startError("recipient_invalid", `--recipient must be ${wanted}`, cause)
  }
}

/** Opens what `encrypted` made. Refuses what none of the keys fits. */
export async function decrypted(sealed: Bytes, opening: Opening): Promise<Bytes> {
  const { passphrase, identities = [] } = opening
  if (passphrase === undefined && identities.length === 0) throw lockedError()
  const { Decrypter } = await import("age-encryption")
  const decrypter = new Decrypter()
  if (passphrase !== undefined) decrypter.addPassphrase(passphrase)
  for (const identity of identities) decrypter.addIdentity(identity)
  try {
    return await decrypter.decrypt(sealed)
  } catch (cause) {
    const which = passphrase === undefined ? "the key" : "the passphrase"
    throw startError("backup_locked", `${which} does not open this backup; is it another's?`, cause)
  }
}

const lockedError = () =>
  startError(
    "backup_locked",
    "the backup is encrypted; give what opens it with --passphrase-file or --identity-file",
  )

/** Reads the secret keys in a file that age-keygen made. */
export function identitiesIn(file: string): readonly string[] {
  const lines = textOf(file).split("\n")
  const keys = lines.map((line) => line.trim()).filter((line) => /^AGE-SECRET-KEY-/.test(line))
  if (keys.length > 0) return keys
  throw startError("identity_invalid", `${file} holds no secret key of age (AGE-SECRET-KEY-…)`)
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    throw startError("file_unreadable", `${file} can't be read (${systemCode(error)})`, error)
  }
}
