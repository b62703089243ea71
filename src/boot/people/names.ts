/** What the command line needs to know before anything of people is read. */
export const formatNames: readonly string[] = [
  "keycloak",
  "auth0",
  "authentik",
  "authelia",
  "okta",
  "csv",
  "json",
]

/** What a person may bring that an import can leave out. */
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
