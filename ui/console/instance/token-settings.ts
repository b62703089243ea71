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
