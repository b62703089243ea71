/**
 * Seconds for which a sign-in is recent enough to change sign-in methods: long enough to finish the
 * task, short enough that the user is still present.
 */
export const freshSignInSeconds = 900

/** When a user signed in, ms UTC; 0 if unknown. */
export type SignInEvidence = {
  /** With a factor that this server checked. */
  readonly localAt: number
  /** At an identity provider, as the provider states. */
  readonly providerAt?: number
  /** When the provider responded. */
  readonly answeredAt?: number
}

/** How recent a sign-in must be. */
export type FreshnessRequirement = {
  /**
   * OpenID Connect Core §3.1.2.1, prompt=login: whether the sign-in must have happened after
   * `since`.
   */
  readonly mustSignIn?: boolean
  /** OpenID Connect Core §3.1.2.1, max_age; RFC 9470. */
  readonly maxAgeSeconds?: number | undefined
  /**
   * The start of the request, ms UTC: a sign-in for this request is fresh. Absent without a
   * request.
   */
  readonly since?: number
}

/**
 * Tolerance for the provider's clock and its rounding to seconds. Only applies to a response for
 * the same request; for others, a minute would be too much.
 */
const providerClockSkewMs = 60_000

/** Whether a sign-in is recent enough; the only implementation of this rule. */
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
  return isFresh(localAt) || isFresh(providerAt, answeredAt > since ? providerClockSkewMs : 0)
}
