import { Fault } from "../../kernel/fault.ts"
import { parseArgon2 } from "./argon2.ts"
import { parseForeignHash } from "./foreign/formats.ts"

/**
 * A password that is ready to be stored. `code` is the sealed code that proves the change; it must
 * still be the user's latest one.
 */
export type NewPassword = {
  readonly hash: string
  readonly changeRequired: boolean
  readonly code?: string
  /**
   * Version of the current password that the user proved, as the stream version at which it was
   * set.
   */
  readonly currentVersion?: number
  /** Number of replaced hashes to keep for the reuse check; none if omitted. */
  readonly historyCount?: number
}

/**
 * Imports a hash from another system: argon2, or one of the formats of `parseForeignHash`. The cost
 * is limited, because anyone can trigger a check of the hash by trying to sign in.
 */
export function importPassword(hash: string, changeRequired: boolean): NewPassword {
  const foreign = parseForeignHash(hash)
  if (foreign?.isTooCostly) {
    throw invalidError(
      "user.password_hash_too_costly",
      "the password hash is too expensive to check: the maximum is a cost of 14 for " +
        "bcrypt, 1,300,000 rounds for PBKDF2, 128 MiB and 4 lanes for scrypt, and 200,000 " +
        "rounds for all others; import the user without a password and send an invitation",
    )
  }
  if (foreign) return { hash, changeRequired }
  const cost = parseArgon2(hash)
  if (!cost) {
    throw invalidError(
      "user.password_hash_unsupported",
      "the password hash must be argon2 in PHC format, such as " +
        "$argon2id$v=19$m=19456,t=2,p=1$…$… (m at least 8 times p, salt of 8 to 64 bytes and " +
        "output of 12 to 64 bytes in base64 without padding), or one of bcrypt ($2b$), " +
        "scrypt ($scrypt$ln=…), PBKDF2 ($pbkdf2-sha256$…), md5crypt ($1$), sha-crypt ($5$, " +
        "$6$), phpass ($P$), Drupal 7 ($S$), or a salted digest such as " +
        "$sha256salted-suffix$salt$hex",
    )
  }
  const { memory, passes, lanes } = cost
  if (memory * passes > importCostMax || Math.max(passes, lanes) > importRepeatMax) {
    throw invalidError(
      "user.password_hash_too_costly",
      "the password hash is too expensive to check: m times t must be at most " +
        `${importCostMax}, t and p at most ${importRepeatMax}; import the user without a ` +
        "password and send an invitation",
    )
  }
  return { hash, changeRequired }
}

/**
 * KiB processed per check: the second recommendation of RFC 9106 §4, 64 MiB three times. This is
 * five times the cost of this server's own hashes; failed attempts are delayed long enough
 * (`paceMs`) to hide the difference. Passes and lanes are limited separately, because each adds
 * time without memory.
 */
const importCostMax = 3 * 65_536
const importRepeatMax = 16

export const invalidError = (id: string, message: string) =>
  new Fault("invalid_argument", id, message)
