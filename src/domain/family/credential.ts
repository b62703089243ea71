import { never } from "../../kernel/crypto/signing-key.ts"
import { Fault } from "../../kernel/fault.ts"

/** Keys or tokens of one kind of holder, which expire and of which each has a limited number. */
export type CredentialKind = {
  /** As the text of an error names one, and whom it belongs to. */
  readonly noun: "key" | "token"
  readonly holder: string
  readonly errorIds: Readonly<Record<"expired" | "tooMany", string>>
}

const most = 100

type NewCredential = {
  /** ms UTC. */
  readonly expires: number
  readonly now: number
  /** How many the holder has. */
  readonly count: number
}

/**
 * Returns when a new credential ends, at the latest with the last time that every format can state.
 * Rejects one that has ended already, and one more than the most.
 */
export function expiryOf(
  { noun, holder, errorIds }: CredentialKind,
  { expires, now, count }: NewCredential,
): number {
  if (expires <= now) {
    const message = `the ${noun}'s expiration date must lie in the future`
    throw new Fault("invalid_argument", errorIds.expired, message)
  }
  if (count >= most) {
    const message = `${holder} has at most ${most} ${noun}s; remove one that is no longer used`
    throw new Fault("resource_exhausted", errorIds.tooMany, message)
  }
  return Math.min(expires, never)
}
