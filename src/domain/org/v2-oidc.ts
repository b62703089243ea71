import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import type { OrganizationOIDCSettings } from "../../gen/core/org/v2/org_pb.ts"
import type { OrgOidcSettings } from "./model.ts"

const lifetimes = [
  "refreshTokenIdleExpiration",
  "refreshTokenExpiration",
  "refreshTokenGrace",
] as const

/** Settings as a request states them; what it leaves out follows the instance. */
export const orgOidcOf = (
  message: Omit<OrganizationOIDCSettings, "$typeName">,
): OrgOidcSettings => ({
  ...(message.pkceRequired && { pkceRequired: true }),
  ...lifetimesWith((name) => secondsOf(message[name])),
})

/** The same as a message states them. */
export const toOrgOidc = (settings: OrgOidcSettings) => ({
  pkceRequired: settings.pkceRequired ?? false,
  ...lifetimesWith((name) => durationOf(settings[name])),
})

type Lifetime = (typeof lifetimes)[number]

function lifetimesWith<Value>(of: (name: Lifetime) => Value | undefined) {
  const values: Partial<Record<Lifetime, Value>> = {}
  for (const name of lifetimes) {
    const value = of(name)
    if (value !== undefined) values[name] = value
  }
  return values
}

const secondsOf = (duration: Duration | undefined): number | undefined =>
  duration && durationMs(duration) / 1000

const durationOf = (seconds: number | undefined): Duration | undefined =>
  seconds === undefined ? undefined : durationFromMs(seconds * 1000)
