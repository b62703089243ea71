import type { MessageInitShape } from "@bufbuild/protobuf"
import {
  AdminService,
  type UpdateOIDCSettingsRequestSchema,
} from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { OIDCSettings } from "../../../src/gen/core/settings/v1/settings_pb.ts"
import { call, refusalOf, useRead } from "../shell/index.ts"

/** A partial change; a complete message would set all fields. */
export type OidcSettingsChange = Extract<
  MessageInitShape<typeof UpdateOIDCSettingsRequestSchema>,
  { readonly $typeName?: never }
>

/** Props of all parts of the token settings. */
export type OidcSettingsPart = { readonly settings: OIDCSettings }

export function useOidcSettings(): OIDCSettings {
  const { settings } = useRead(AdminService.method.getOIDCSettings)
  if (!settings) throw new Error("the server returned no OIDC settings")
  return settings
}

/** Updates some settings; the four lifetimes are always sent together. */
export async function updateOidcSettings(
  settings: OIDCSettings,
  change: OidcSettingsChange,
): Promise<void> {
  const lifetimes: OidcSettingsChange = {}
  for (const name of lifetimeFields) {
    const lifetime = settings[name]
    if (lifetime) lifetimes[name] = lifetime
  }
  try {
    await call(AdminService.method.updateOIDCSettings, { ...lifetimes, ...change })
  } catch (failure) {
    // An unchanged save is not an error for the user.
    if (refusalOf(failure).id !== "instance.oidc_settings_unchanged") throw failure
  }
}

const lifetimeFields = [
  "accessTokenLifetime",
  "idTokenLifetime",
  "refreshTokenIdleExpiration",
  "refreshTokenExpiration",
] as const
