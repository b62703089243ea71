import { directoryServerOf } from "../../protocol/ldap-url.ts"
import type { IdpKind, Settings } from "./model.ts"

type Of<Kind extends IdpKind> = Extract<Settings, { kind: Kind }>

/** Who says who somebody is that a provider with these settings sends. */
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

/** What says who somebody is belongs to it, where the name does not. */
function samlAuthority({ entityId, anchor, transientAttribute }: Of<"saml">): string {
  return JSON.stringify([entityId, anchor, ...(transientAttribute ? [transientAttribute] : [])])
}

/** The hosts, in whatever order and however they are reached, and what an id is there. */
function directoryAuthority({ servers, baseDn, attributes }: Of<"ldap">): string {
  const hosts = servers.map((each) => directoryServerOf(each)?.host ?? each)
  return JSON.stringify([[...new Set(hosts)].sort(), baseDn, attributes.id])
}

// As they are named where one of them was set up as a generic provider before.
const googleIssuer = "https://accounts.google.com"
const azureIssuer = (tenant: string) => `https://login.microsoftonline.com/${tenant}/v2.0`
