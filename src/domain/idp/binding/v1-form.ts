import type {
  AddAppleProviderRequest,
  AddAzureADProviderRequest,
  AddGenericOAuthProviderRequest,
  AddGenericOIDCProviderRequest,
  AddGitHubEnterpriseServerProviderRequest,
  AddGitLabSelfHostedProviderRequest,
  AddGoogleProviderRequest,
  AddJWTProviderRequest,
  AddLDAPProviderRequest,
} from "../../../gen/core/admin/v1/idp_pb.ts"
import {
  AutoLinkingOption,
  type AzureADTenant,
  AzureADTenantType,
  type Options as OptionsMessage,
} from "../../../gen/core/idp/v1/idp_pb.ts"
import { valueOfEnum } from "../../../protocol/api/response.ts"
import type { IdpInput } from "../commands.ts"
import type { AutoLinking, Options, Settings } from "../model.ts"
import { directoryFrom } from "./v1-directory.ts"

/** The fields of requests that add or update a provider, of an instance or an organization. */
type Fields<M> = Omit<M, "$typeName" | "$unknown">

type CommonFields = {
  readonly name: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  readonly providerOptions?: OptionsMessage | undefined
}

/** Reads the input for each kind of provider; vendors have a default name. */
export const inputFrom = {
  oauth: (req: Fields<AddGenericOAuthProviderRequest>) => {
    const { idAttribute, usePkce } = req
    return idpInput(req, {
      kind: "oauth",
      ...clientFrom(req),
      ...endpointsFrom(req),
      idAttribute,
      usePkce,
    })
  },
  oidc: (req: Fields<AddGenericOIDCProviderRequest>) => {
    const { issuer, isIdTokenMapping, usePkce } = req
    return idpInput(req, { kind: "oidc", ...clientFrom(req), issuer, isIdTokenMapping, usePkce })
  },
  jwt: (req: Fields<AddJWTProviderRequest>): IdpInput => {
    const { name, issuer, jwtEndpoint, keysEndpoint, headerName } = req
    const settings = { kind: "jwt", issuer, jwtEndpoint, keysEndpoint, headerName } as const
    return { name, settings, options: optionsFrom(req.providerOptions) }
  },
  ldap: (req: Fields<AddLDAPProviderRequest>): IdpInput => {
    const { name, bindPassword: secret } = req
    return { name, settings: directoryFrom(req), options: optionsFrom(req.providerOptions), secret }
  },
  azure: (req: Fields<AddAzureADProviderRequest>) => {
    const { emailVerified } = req
    const tenant = tenantFrom(req.tenant)
    return idpInput(req, { kind: "azure", ...clientFrom(req), tenant, emailVerified }, "Microsoft")
  },
  github: (req: Fields<AddGoogleProviderRequest>) =>
    idpInput(req, { kind: "github", ...clientFrom(req) }, "GitHub"),
  gitlab: (req: Fields<AddGoogleProviderRequest>) =>
    idpInput(req, { kind: "gitlab", ...clientFrom(req) }, "GitLab"),
  google: (req: Fields<AddGoogleProviderRequest>) =>
    idpInput(req, { kind: "google", ...clientFrom(req) }, "Google"),
  githubEnterprise: (req: Fields<AddGitHubEnterpriseServerProviderRequest>) =>
    idpInput(req, { kind: "github_enterprise", ...clientFrom(req), ...endpointsFrom(req) }),
  gitlabSelfHosted: (req: Fields<AddGitLabSelfHostedProviderRequest>) => {
    const { issuer } = req
    return idpInput(req, { kind: "gitlab_self_hosted", ...clientFrom(req), issuer })
  },
  apple: ({ privateKey, ...req }: Fields<AddAppleProviderRequest>) => {
    const { teamId, keyId } = req
    const clientSecret = new TextDecoder().decode(privateKey)
    const settings = { kind: "apple", ...clientFrom(req), teamId, keyId } as const
    return idpInput({ ...req, clientSecret }, settings, "Apple")
  },
} as const

function idpInput(req: CommonFields, settings: Settings, standardName = ""): IdpInput {
  const { name, clientSecret: secret, providerOptions } = req
  return { name: name || standardName, settings, options: optionsFrom(providerOptions), secret }
}

const clientFrom = ({ clientId, scopes }: Pick<CommonFields, "clientId" | "scopes">) => ({
  clientId,
  scopes: [...scopes],
})

type Endpoints = Pick<
  AddGenericOAuthProviderRequest,
  "authorizationEndpoint" | "tokenEndpoint" | "userEndpoint"
>

const endpointsFrom = ({ authorizationEndpoint, tokenEndpoint, userEndpoint }: Endpoints) => ({
  authorizationEndpoint,
  tokenEndpoint,
  userEndpoint,
})

/** Reads the options for users who sign in; all off by default. */
export function optionsFrom(message: OptionsMessage | undefined): Options {
  const { isLinkingAllowed = false, isCreationAllowed = false } = message ?? {}
  const { isAutoCreation = false, isAutoUpdate = false, autoLinking = 0 } = message ?? {}
  const { acceptAsFresh = false, forwardAcrValues = false, isTrustedForAddresses } = message ?? {}
  const { allowedDomains = [], encryptAssertions } = message ?? {}
  const { acceptMissingNonce, acceptOtherAudiences, trustDirectoryAddresses } = message ?? {}
  return {
    isLinkingAllowed,
    isCreationAllowed,
    isAutoCreation,
    isAutoUpdate,
    autoLinking: valueOfEnum(autoLinkings, autoLinking),
    // Options that are off are omitted, as in events from before they existed.
    ...(acceptAsFresh && { acceptAsFresh }),
    ...(forwardAcrValues && { forwardAcrValues }),
    ...(isTrustedForAddresses !== undefined && { isTrustedForAddresses }),
    ...(allowedDomains.length > 0 && { allowedDomains }),
    ...(acceptMissingNonce && { acceptMissingNonce }),
    ...(acceptOtherAudiences && { acceptOtherAudiences }),
    ...(encryptAssertions !== undefined && { encryptAssertions }),
    ...(trustDirectoryAddresses && { trustDirectoryAddresses }),
  }
}

const autoLinkings: Readonly<Record<number, AutoLinking>> = {
  [AutoLinkingOption.UNSPECIFIED]: "off",
  [AutoLinkingOption.USERNAME]: "username",
  [AutoLinkingOption.EMAIL]: "email",
}

/** The options in the format of all versions. */
export const toOptionsMessage = ({ autoLinking, allowedDomains = [], ...options }: Options) => ({
  ...options,
  allowedDomains: [...allowedDomains],
  autoLinking: autoLinkingMessages[autoLinking],
})

const autoLinkingMessages: Readonly<Record<AutoLinking, AutoLinkingOption>> = {
  off: AutoLinkingOption.UNSPECIFIED,
  username: AutoLinkingOption.USERNAME,
  email: AutoLinkingOption.EMAIL,
}

/** Microsoft's names for multi-directory tenants. */
export const tenants = {
  common: AzureADTenantType.AZURE_AD_TENANT_TYPE_COMMON,
  organizations: AzureADTenantType.AZURE_AD_TENANT_TYPE_ORGANISATIONS,
  consumers: AzureADTenantType.AZURE_AD_TENANT_TYPE_CONSUMERS,
} as const

function tenantFrom(message: AzureADTenant | undefined): string {
  if (message?.type.case === "tenantId") return message.type.value
  const type = message?.type.value ?? tenants.common
  return Object.entries(tenants).find(([, value]) => value === type)?.[0] ?? "common"
}
