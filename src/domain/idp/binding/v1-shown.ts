import { IDPOwnerType, IDPState, ProviderType } from "../../../gen/core/idp/v1/idp_pb.ts"
import { details } from "../../../protocol/api/answer.ts"
import type { Cx } from "../../../store/index.ts"
import { type Found, metadataOf, type Place } from "../commands.ts"
import type { Idp, IdpKind, Settings } from "../model.ts"
import { shownDirectory } from "./v1-directory.ts"
import { shownOptions, tenants } from "./v1-form.ts"
import { shownSaml } from "./v1-saml.ts"

/** Numbers of the kinds in v1, and in v2 where it counts the same. */
export const types: Readonly<Record<IdpKind, ProviderType>> = {
  oidc: ProviderType.OIDC,
  jwt: ProviderType.JWT,
  ldap: ProviderType.LDAP,
  oauth: ProviderType.OAUTH,
  azure: ProviderType.AZURE_AD,
  github: ProviderType.GITHUB,
  github_enterprise: ProviderType.GITHUB_ES,
  gitlab: ProviderType.GITLAB,
  gitlab_self_hosted: ProviderType.GITLAB_SELF_HOSTED,
  google: ProviderType.GOOGLE,
  apple: ProviderType.APPLE,
  saml: ProviderType.SAML,
}

export const ownerOf = (place: Place): IDPOwnerType =>
  place === undefined ? IDPOwnerType.IDP_OWNER_TYPE_SYSTEM : IDPOwnerType.IDP_OWNER_TYPE_ORG

/** A provider by itself, with what it says of itself in XML: of many that would be too much. */
export const shownWhole = (cx: Cx, found: Found) =>
  shownIdp(cx, found, metadataOf(cx, found.idp.id))

/** A provider as every version shows it; never its secret. */
export function shownIdp(cx: Cx, { idp, place }: Found, metadata = "") {
  return {
    id: idp.id,
    details: standOf(cx, { idp, place }),
    state: IDPState.IDP_STATE_ACTIVE,
    name: idp.name,
    type: types[idp.settings.kind],
    config: { options: shownOptions(idp.options), config: configOf(idp.settings, metadata) },
  }
}

export const standOf = (cx: Cx, { idp, place }: { readonly idp: Idp; readonly place: Place }) =>
  details({ ...idp, owner: place ?? cx.instance })

/** A provider as an update says it that changes nothing: without its secret, which then stays. */
export const requestedOf = ({ name, options, settings }: Idp): object => ({
  name,
  providerOptions: shownOptions(options),
  ...configOf(settings, "").value,
  clientSecret: "",
  bindPassword: "",
  privateKey: new Uint8Array(),
})

function configOf(settings: Settings, metadata: string) {
  const { kind } = settings
  if (kind === "jwt") return { case: "jwt", value: settings } as const
  if (kind === "ldap") return { case: "ldap", value: shownDirectory(settings) } as const
  if (kind === "saml") return { case: "saml", value: shownSaml(settings, metadata) } as const
  const value = { ...settings, scopes: [...settings.scopes] }
  switch (value.kind) {
    case "oauth":
      return { case: "oauth", value } as const
    case "oidc":
      return { case: "oidc", value } as const
    case "azure":
      return { case: "azureAd", value: { ...value, tenant: tenantOf(value.tenant) } } as const
    case "github_enterprise":
      return { case: "githubEs", value } as const
    case "gitlab_self_hosted":
      return { case: "gitlabSelfHosted", value } as const
    case "apple":
      return { case: "apple", value } as const
    case "github":
      return { case: "github", value } as const
    case "gitlab":
      return { case: "gitlab", value } as const
    case "google":
      return { case: "google", value } as const
  }
}

function tenantOf(tenant: string) {
  const [, several] = Object.entries(tenants).find(([name]) => name === tenant) ?? []
  return several === undefined
    ? ({ type: { case: "tenantId", value: tenant } } as const)
    : ({ type: { case: "tenantType", value: several } } as const)
}
