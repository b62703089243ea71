/** The format names for the help, without loading the formats. */
export const formatNames: readonly string[] = [
  "keycloak",
  "auth0",
  "authentik",
  "authelia",
  "okta",
  "csv",
  "json",
]

/** The parts of users that an import can skip. */
export const parts = [
  "passwords",
  "otp",
  "factors",
  "links",
  "groups",
  "roles",
  "metadata",
] as const
export type Part = (typeof parts)[number]
export const partNames: readonly string[] = parts
