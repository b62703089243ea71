/**
 * Seconds within which a sign-in is recent enough to change how one signs in: long enough for what
 * people come to do, short enough that they still sit there.
 */
export const freshSeconds = 900

/** What is known of when somebody signed in, ms UTC; 0 where nobody knows. */
export type SignInEvidence = {
  /** By a factor that was checked here. */
  readonly localAt: number
  /** At an identity provider, as that states it. */
  readonly providerAt?: number
  /** When the provider answered. */
  readonly answeredAt?: number
}

/** How fresh a sign-in has to be. */
export type FreshnessRequirement = {
  /** OpenID Connect Core §3.1.2.1, prompt=login: whether it must have happened `since` then. */
  readonly mustSignIn?: boolean
  /** OpenID Connect Core §3.1.2.1, max_age; RFC 9470. */
  readonly maxAgeSeconds?: number | undefined
  /** When the request began, ms UTC: a sign-in that it led to is fresh. Absent for no request. */
  readonly since?: number
}

/**
 * How far the clock of a provider can be behind ours, and what its seconds are cut off by. It
 * applies only to an answer that the same request has led to: any other is not fresh by a minute.
 */
const providerSkewMs = 60_000

/** The one rule on whether a sign-in is fresh enough for what it is needed for. */
export function isFreshSignIn(
  { localAt, providerAt = 0, answeredAt = 0 }: SignInEvidence,
  { mustSignIn = false, maxAgeSeconds, since = Number.POSITIVE_INFINITY }: FreshnessRequirement,
  now: number,
): boolean {
  if (!mustSignIn && maxAgeSeconds === undefined) return true
  const isFresh = (at: number, skew = 0): boolean => {
    if (at === 0) return false
    if (at + skew > since) return true
    return !mustSignIn && now - at <= (maxAgeSeconds ?? 0) * 1000 + skew
  }
  return isFresh(localAt) || isFresh(providerAt, answeredAt > since ? providerSkewMs : 0)
}
