import type { Duration } from "@bufbuild/protobuf/wkt"
import { type Amount, amountFromDuration, durationFromAmount } from "../form/index.ts"

/** Token lifetimes of an instance that applications can override. */
export const lifetimeNames = [
  "accessTokenLifetime",
  "idTokenLifetime",
  "refreshTokenIdleExpiration",
  "refreshTokenExpiration",
  "refreshTokenGrace",
] as const
export type LifetimeName = (typeof lifetimeNames)[number]

/** JWS algorithms for which web keys can be created. */
export const algorithms = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA"] as const

/** The `typ` header of JWT access tokens; the default is first. */
export const jwtTypes = ["at+jwt", "JWT"] as const

type LifetimeDurations = { readonly [Name in LifetimeName]?: Duration | undefined }
type LifetimeAmounts = Readonly<Record<LifetimeName, Amount>>

/** Lifetimes as form values. */
export const toAmounts = (lifetimes: LifetimeDurations | undefined): LifetimeAmounts => ({
  accessTokenLifetime: amountFromDuration(lifetimes?.accessTokenLifetime),
  idTokenLifetime: amountFromDuration(lifetimes?.idTokenLifetime),
  refreshTokenIdleExpiration: amountFromDuration(lifetimes?.refreshTokenIdleExpiration, "days"),
  refreshTokenExpiration: amountFromDuration(lifetimes?.refreshTokenExpiration, "days"),
  refreshTokenGrace: amountFromDuration(lifetimes?.refreshTokenGrace, "seconds"),
})

/** Lifetimes for a request; empty ones are omitted. */
export function toDurations(amounts: LifetimeAmounts): { [Name in LifetimeName]?: Duration } {
  const durations: { [Name in LifetimeName]?: Duration } = {}
  for (const name of lifetimeNames) {
    const lifetime = durationFromAmount(amounts[name])
    if (lifetime) durations[name] = lifetime
  }
  return durations
}
