import type { Idp } from "../model.ts"
import type { AuthenticatedAnswer } from "./identity.ts"

/** Tolerated skew of a provider's clock. */
const clockSkewMs = 60_000

/**
 * OpenID Connect Core §2: parses `auth_time` in seconds, also fractions or digits as text. Returns
 * ms UTC, or undefined for other values, such as milliseconds.
 */
export function parseAuthTime(claim: unknown): number | undefined {
  const isDigits = typeof claim === "string" && /^\d{1,10}$/.test(claim)
  const seconds = isDigits ? Number(claim) : claim
  if (typeof seconds !== "number" || !(seconds > 0 && seconds < 10_000_000_000)) return undefined
  return Math.floor(seconds) * 1000
}

/** The sign-in time in signed claims of a provider. */
export function statedSignInTime(claims: Readonly<Record<string, unknown>>) {
  const authenticatedAt = parseAuthTime(claims.auth_time)
  return authenticatedAt === undefined ? {} : { authenticatedAt }
}

/** The stated time, at most `now`; undefined if it is in the future. */
export function timeNotAfter(stated: number | undefined, now: number): number | undefined {
  if (stated === undefined || stated > now + clockSkewMs) return undefined
  return Math.min(stated, now)
}

/** Times of a sign-in through a provider, ms UTC. */
export type SignInTimes = {
  /** The provider's time, otherwise that of its answer; absent in answers of an older version. */
  readonly authTime?: number
  /** When the user is known to have signed in; absent if the provider doesn't state it. */
  readonly freshAt?: number
}

/**
 * When the user signed in at a provider. An answer without a time doesn't prove a fresh sign-in,
 * unless an instance administrator allows it for this provider.
 */
export function signInTimesOf(
  { options }: Pick<Idp, "options">,
  { authenticatedAt, answeredAt }: Pick<AuthenticatedAnswer, "authenticatedAt" | "answeredAt">,
): SignInTimes {
  if (authenticatedAt !== undefined) return { authTime: authenticatedAt, freshAt: authenticatedAt }
  if (answeredAt === undefined) return {}
  return { authTime: answeredAt, ...(options.acceptAsFresh && { freshAt: answeredAt }) }
}
