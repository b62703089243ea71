import { IDPOwnerType, IDPState, ProviderType } from "../../../gen/core/idp/v1/idp_pb.ts"
import { toDetails } from "../../../protocol/api/response.ts"
import type { Cx } from "../../../store/index.ts"
import { type IdpOwner, metadataOf, type OwnedIdp } from "../commands.ts"
import type { Idp, IdpKind, Settings } from "../model.ts"
import { toDirectoryMessage } from "./v1-directory.ts"
import { tenants, toOptionsMessage } from "./v1-form.ts"
import { toSamlMessage } from "./v1-saml.ts"

/** Numbers of the provider kinds in version 1; version 2 mostly uses the same. */
export const typeNumbers: Readonly<Record<IdpKind, ProviderType>> = {
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

export const toOwnerType = (owner: IdpOwner): IDPOwnerType =>
  owner === undefined ? IDPOwnerType.IDP_OWNER_TYPE_SYSTEM : IDPOwnerType.IDP_OWNER_TYPE_ORG

/** One provider with its metadata XML, which is too large for lists. */
export const toMessageWithMetadata = (cx: Cx, ownedIdp: OwnedIdp) =>
  toMessage(cx, ownedIdp, metadataOf(cx, ownedIdp.idp.id))

/** A provider in the format of both versions, without its secret. */
export function toMessage(cx: Cx, { idp, place: owner }: OwnedIdp, metadata = "") {
  return {
    id: idp.id,
    details: idpDetails(cx, { idp, place: owner }),
    state: IDPState.IDP_STATE_ACTIVE,
    name: idp.name,
    type: typeNumbers[idp.settings.kind],
    config: { options: toOptionsMessage(idp.options), config: toConfig(idp.settings, metadata) },
  }
}

export const idpDetails = (
  cx: Cx,
  { idp, place: owner }: { readonly idp: Idp; readonly place: IdpOwner },
) => toDetails({ ...idp, owner: owner ?? cx.instance })

/** The update request that would leave a provider unchanged; without the secret, which is kept. */
export const toUpdateRequest = ({ name, options, settings }: Idp): object => ({
  name,
  providerOptions: toOptionsMessage(options),
  ...toConfig(settings, "").value,
  clientSecret: "",
  bindPassword: "",
  privateKey: new Uint8Array(),
})

function toConfig(settings: Settings, metadata: string) {
  const { kind } = settings
  if (kind === "jwt") return { case: "jwt", value: settings } as const
  if (kind === "ldap") return { case: "ldap", value: toDirectoryMessage(settings) } as const
  if (kind === "saml") return { case: "saml", value: toSamlMessage(settings, metadata) } as const
  const value = { ...settings, scopes: [...settings.scopes] }
  switch (value.kind) {
    case "oauth":
      return { case: "oauth", value } as const
    case "oidc":
      return { case: "oidc", value } as const
    case "azure":
      return { case: "azureAd", value: { ...value, tenant: toTenant(value.tenant) } } as const
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

function toTenant(tenant: string) {
  const [, several] = Object.entries(tenants).find(([name]) => name === tenant) ?? []
  return several === undefined
    ? ({ type: { case: "tenantId", value: tenant } } as const)
    : ({ type: { case: "tenantType", value: several } } as const)
}
