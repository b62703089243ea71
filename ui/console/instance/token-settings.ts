import type { Duration } from "@bufbuild/protobuf/wkt"
import { type Amount, amountOf, durationOf } from "../form/index.ts"

/** What an instance says of tokens, and each application may say otherwise. */
export const lifetimeNames = [
  "accessTokenLifetime",
  "idTokenLifetime",
  "refreshTokenIdleExpiration",
  "refreshTokenExpiration",
  "refreshTokenGrace",
] as const
export type LifetimeName = (typeof lifetimeNames)[number]

/** JWS algorithms that a web key can be made for. */
export const algorithms = ["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "EdDSA"] as const

/** The header `typ` of access tokens that are JWTs, the default first. */
export const jwtTypes = ["at+jwt", "JWT"] as const

type Lifetimes = { readonly [Name in LifetimeName]?: Duration | undefined }
type Amounts = Readonly<Record<LifetimeName, Amount>>

/** Lifetimes as a form holds them. */
export const lifetimesOf = (said: Lifetimes | undefined): Amounts => ({
  accessTokenLifetime: amountOf(said?.accessTokenLifetime),
  idTokenLifetime: amountOf(said?.idTokenLifetime),
  refreshTokenIdleExpiration: amountOf(said?.refreshTokenIdleExpiration, "days"),
  refreshTokenExpiration: amountOf(said?.refreshTokenExpiration, "days"),
  refreshTokenGrace: amountOf(said?.refreshTokenGrace, "seconds"),
})

/** The same as requests carry them; those that are left empty are left out. */
export function durationsOf(amounts: Amounts): { [Name in LifetimeName]?: Duration } {
  const durations: { [Name in LifetimeName]?: Duration } = {}
  for (const name of lifetimeNames) {
    const lifetime = durationOf(amounts[name])
    if (lifetime) durations[name] = lifetime
  }
  return durations
}
