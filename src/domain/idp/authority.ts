import { parseLdapUrl } from "../../protocol/ldap-url.ts"
import type { IdpKind, Settings } from "./model.ts"

type SettingsOf<Kind extends IdpKind> = Extract<Settings, { kind: Kind }>

/** Identifies the authority that user IDs of a provider with these settings belong to. */
export function authorityOf(settings: Settings): string {
  switch (settings.kind) {
    case "oauth":
    case "github_enterprise": {
      const { tokenEndpoint, userEndpoint } = settings
      const id = settings.kind === "oauth" ? settings.idAttribute : "id"
      return JSON.stringify([tokenEndpoint, userEndpoint, id])
    }
    case "jwt":
      return JSON.stringify([settings.issuer, settings.keysEndpoint])
    case "ldap":
      return directoryAuthority(settings)
    case "saml":
      return samlAuthority(settings)
    case "oidc":
    case "gitlab_self_hosted":
      return settings.issuer
    case "azure":
      return azureIssuer(settings.tenant)
    case "google":
      return googleIssuer
    default:
      return settings.kind
  }
}

/** Includes the settings that determine user IDs, but not the name. */
function samlAuthority({ entityId, anchor, transientAttribute }: SettingsOf<"saml">): string {
  return JSON.stringify([entityId, anchor, ...(transientAttribute ? [transientAttribute] : [])])
}

/** The sorted hosts, regardless of protocol and port, and the attribute of user IDs. */
function directoryAuthority({ servers, baseDn, attributes }: SettingsOf<"ldap">): string {
  const hosts = servers.map((each) => parseLdapUrl(each)?.host ?? each)
  return JSON.stringify([[...new Set(hosts)].sort(), baseDn, attributes.id])
}

// The same issuers as for a generic provider that was configured earlier.
const googleIssuer = "https://accounts.google.com"
const azureIssuer = (tenant: string) => `https://login.microsoftonline.com/${tenant}/v2.0`
