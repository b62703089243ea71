import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import type { OrganizationOIDCSettings } from "../../gen/core/org/v2/org_pb.ts"
import type { OrgOidcSettings } from "./model.ts"

const lifetimes = [
  "refreshTokenIdleExpiration",
  "refreshTokenExpiration",
  "refreshTokenGrace",
] as const

/** The settings of a request; omitted ones follow the instance. */
export const parseOrgOidc = (
  message: Omit<OrganizationOIDCSettings, "$typeName">,
): OrgOidcSettings => ({
  ...(message.pkceRequired && { pkceRequired: true }),
  ...mapLifetimes((name) => secondsOf(message[name])),
})

/** The settings as a message. */
export const toOrgOidc = (settings: OrgOidcSettings) => ({
  pkceRequired: settings.pkceRequired ?? false,
  ...mapLifetimes((name) => durationOf(settings[name])),
})

type Lifetime = (typeof lifetimes)[number]

function mapLifetimes<Value>(getValue: (name: Lifetime) => Value | undefined) {
  const values: Partial<Record<Lifetime, Value>> = {}
  for (const name of lifetimes) {
    const value = getValue(name)
    if (value !== undefined) values[name] = value
  }
  return values
}

const secondsOf = (duration: Duration | undefined): number | undefined =>
  duration && durationMs(duration) / 1000

const durationOf = (seconds: number | undefined): Duration | undefined =>
  seconds === undefined ? undefined : durationFromMs(seconds * 1000)
