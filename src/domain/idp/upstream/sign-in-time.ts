import type { Idp } from "../model.ts"
import type { Answered } from "./identity.ts"

/** How far the clock of a provider can be from ours. */
const clockSkewMs = 60_000

/**
 * OpenID Connect Core §2: reads an `auth_time` in seconds, also one with a fraction or written in
 * digits; returns ms UTC. Undefined for anything else: a value in milliseconds can't be told from
 * a wrong one.
 */
export function authTimeIn(claim: unknown): number | undefined {
  const isDigits = typeof claim === "string" && /^\d{1,10}$/.test(claim)
  const seconds = isDigits ? Number(claim) : claim
  if (typeof seconds !== "number" || !(seconds > 0 && seconds < 10_000_000_000)) return undefined
  return Math.floor(seconds) * 1000
}

/** The time that claims signed by a provider state. */
export function statedIn(claims: Readonly<Record<string, unknown>>) {
  const authenticatedAt = authTimeIn(claims.auth_time)
  return authenticatedAt === undefined ? {} : { authenticatedAt }
}

/** A time that a provider states, never later than `now`; undefined where it lies in the future. */
export function timeByNow(stated: number | undefined, now: number): number | undefined {
  if (stated === undefined || stated > now + clockSkewMs) return undefined
  return Math.min(stated, now)
}

/** The times of a sign-in through a provider, ms UTC. */
export type SignInTimes = {
  /** The provider's time, else that of its answer; absent in answers of an older version. */
  readonly authTime?: number
  /** When the user is known to have signed in; absent where the provider does not say. */
  readonly freshAt?: number
}

/**
 * When somebody signed in at a provider. An answer without a time proves no fresh sign-in, unless
 * an administrator of the instance accepts such answers of this provider as fresh.
 */
export function signInTimesOf(
  { options }: Pick<Idp, "options">,
  { authenticatedAt, answeredAt }: Pick<Answered, "authenticatedAt" | "answeredAt">,
): SignInTimes {
  if (authenticatedAt !== undefined) return { authTime: authenticatedAt, freshAt: authenticatedAt }
  if (answeredAt === undefined) return {}
  return { authTime: answeredAt, ...(options.acceptAsFresh && { freshAt: answeredAt }) }
}
