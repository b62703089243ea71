import { neverExpires } from "../../kernel/crypto/signing-key.ts"
import { Fault } from "../../kernel/fault.ts"

/**
 * Texts and error IDs for one kind of keys or tokens, which expire and are limited in number per
 * holder.
 */
export type CredentialKind = {
  /** How error messages name the credential and its holder. */
  readonly noun: "key" | "token"
  readonly holder: string
  readonly errorIds: Readonly<Record<"expired" | "tooMany", string>>
}

const countMax = 100

type NewCredential = {
  /** ms UTC. */
  readonly expires: number
  readonly now: number
  /** Number of credentials that the holder has. */
  readonly count: number
}

/**
 * Returns the expiration of a new credential, capped at the latest time that every format can
 * represent. Rejects a time in the past and more credentials than the limit.
 */
export function requireExpiry(
  { noun, holder, errorIds }: CredentialKind,
  { expires, now, count }: NewCredential,
): number {
  if (expires <= now) {
    const message = `the expiration date of the ${noun} must be in the future`
    throw new Fault("invalid_argument", errorIds.expired, message)
  }
  if (count >= countMax) {
    const limit = `${holder} can have at most ${countMax} ${noun}s`
    const message = `${limit}; remove one that is no longer used`
    throw new Fault("resource_exhausted", errorIds.tooMany, message)
  }
  return Math.min(expires, neverExpires)
}
