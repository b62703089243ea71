import type { MessageInitShape } from "@bufbuild/protobuf"
import {
  AdminService,
  type UpdateOIDCSettingsRequestSchema,
} from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { OIDCSettings } from "../../../src/gen/core/settings/v1/settings_pb.ts"
import { call, refusalOf, useRead } from "../shell/index.ts"

/** What is given is changed; not a whole message, which would give everything. */
export type OidcSettingsChange = Extract<
  MessageInitShape<typeof UpdateOIDCSettingsRequestSchema>,
  { readonly $typeName?: never }
>

/** What every part of the settings of tokens is handed. */
export type OidcSettingsPart = { readonly settings: OIDCSettings }

export function useOidcSettings(): OIDCSettings {
  const { settings } = useRead(AdminService.method.getOIDCSettings)
  if (!settings) throw new Error("the server has not answered with its settings")
  return settings
}

/** Changes some of the settings; the four lifetimes always go together. */
export async function changeOidcSettings(
  settings: OIDCSettings,
  change: OidcSettingsChange,
): Promise<void> {
  const lifetimes: OidcSettingsChange = {}
  for (const name of together) {
    const lifetime = settings[name]
    if (lifetime) lifetimes[name] = lifetime
  }
  try {
    await call(AdminService.method.updateOIDCSettings, { ...lifetimes, ...change })
  } catch (failure) {
    // Saved as it was: nothing to tell anybody.
    if (refusalOf(failure).id !== "instance.oidc_settings_unchanged") throw failure
  }
}

const together = [
  "accessTokenLifetime",
  "idTokenLifetime",
  "refreshTokenIdleExpiration",
  "refreshTokenExpiration",
] as const
