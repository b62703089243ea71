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
import { meaning } from "../../../protocol/api/answer.ts"
import type { Wish } from "../commands.ts"
import type { AutoLinking, Options, Settings } from "../model.ts"
import { directoryOf } from "./v1-directory.ts"

/** The same fields add and change a provider, of the instance and of an organisation. */
type Fields<M> = Omit<M, "$typeName" | "$unknown">

type Common = {
  readonly name: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  readonly providerOptions?: OptionsMessage | undefined
}

/** Reads what requests say of each kind of provider; a vendor's need no name. */
export const wishOf = {
  oauth: (req: Fields<AddGenericOAuthProviderRequest>) => {
    const { idAttribute, usePkce } = req
    return wish(req, { kind: "oauth", ...clientOf(req), ...endpointsOf(req), idAttribute, usePkce })
  },
  oidc: (req: Fields<AddGenericOIDCProviderRequest>) => {
    const { issuer, isIdTokenMapping, usePkce } = req
    return wish(req, { kind: "oidc", ...clientOf(req), issuer, isIdTokenMapping, usePkce })
  },
  jwt: (req: Fields<AddJWTProviderRequest>): Wish => {
    const { name, issuer, jwtEndpoint, keysEndpoint, headerName } = req
    const settings = { kind: "jwt", issuer, jwtEndpoint, keysEndpoint, headerName } as const
    return { name, settings, options: optionsOf(req.providerOptions) }
  },
  ldap: (req: Fields<AddLDAPProviderRequest>): Wish => {
    const { name, bindPassword: secret } = req
    return { name, settings: directoryOf(req), options: optionsOf(req.providerOptions), secret }
  },
  azure: (req: Fields<AddAzureADProviderRequest>) => {
    const { emailVerified } = req
    const tenant = tenantOf(req.tenant)
    return wish(req, { kind: "azure", ...clientOf(req), tenant, emailVerified }, "Microsoft")
  },
  github: (req: Fields<AddGoogleProviderRequest>) =>
    wish(req, { kind: "github", ...clientOf(req) }, "GitHub"),
  gitlab: (req: Fields<AddGoogleProviderRequest>) =>
    wish(req, { kind: "gitlab", ...clientOf(req) }, "GitLab"),
  google: (req: Fields<AddGoogleProviderRequest>) =>
    wish(req, { kind: "google", ...clientOf(req) }, "Google"),
  githubEnterprise: (req: Fields<AddGitHubEnterpriseServerProviderRequest>) =>
    wish(req, { kind: "github_enterprise", ...clientOf(req), ...endpointsOf(req) }),
  gitlabSelfHosted: (req: Fields<AddGitLabSelfHostedProviderRequest>) => {
    const { issuer } = req
    return wish(req, { kind: "gitlab_self_hosted", ...clientOf(req), issuer })
  },
  apple: ({ privateKey, ...req }: Fields<AddAppleProviderRequest>) => {
    const { teamId, keyId } = req
    const clientSecret = new TextDecoder().decode(privateKey)
    const settings = { kind: "apple", ...clientOf(req), teamId, keyId } as const
    return wish({ ...req, clientSecret }, settings, "Apple")
  },
} as const

function wish(req: Common, settings: Settings, standardName = ""): Wish {
  const { name, clientSecret: secret, providerOptions } = req
  return { name: name || standardName, settings, options: optionsOf(providerOptions), secret }
}

const clientOf = ({ clientId, scopes }: Pick<Common, "clientId" | "scopes">) => ({
  clientId,
  scopes: [...scopes],
})

type Endpoints = Pick<
  AddGenericOAuthProviderRequest,
  "authorizationEndpoint" | "tokenEndpoint" | "userEndpoint"
>

const endpointsOf = ({ authorizationEndpoint, tokenEndpoint, userEndpoint }: Endpoints) => ({
  authorizationEndpoint,
  tokenEndpoint,
  userEndpoint,
})

/** What may come of a sign-in; nothing where nothing is said. */
export function optionsOf(given: OptionsMessage | undefined): Options {
  const { isLinkingAllowed = false, isCreationAllowed = false } = given ?? {}
  const { isAutoCreation = false, isAutoUpdate = false, autoLinking = 0 } = given ?? {}
  const { acceptAsFresh = false, forwardAcrValues = false, isTrustedForAddresses } = given ?? {}
  const { allowedDomains = [], encryptAssertions } = given ?? {}
  const { acceptMissingNonce, acceptOtherAudiences, trustDirectoryAddresses } = given ?? {}
  return {
    isLinkingAllowed,
    isCreationAllowed,
    isAutoCreation,
    isAutoUpdate,
    autoLinking: meaning(autoLinkings, autoLinking),
    // What is off is left out, as it was before there was either.
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

/** The same as every version shows it. */
export const shownOptions = ({ autoLinking, allowedDomains = [], ...options }: Options) => ({
  ...options,
  allowedDomains: [...allowedDomains],
  autoLinking: shownAutoLinkings[autoLinking],
})

const shownAutoLinkings: Readonly<Record<AutoLinking, AutoLinkingOption>> = {
  off: AutoLinkingOption.UNSPECIFIED,
  username: AutoLinkingOption.USERNAME,
  email: AutoLinkingOption.EMAIL,
}

/** The names of Microsoft for several directories at once. */
export const tenants = {
  common: AzureADTenantType.AZURE_AD_TENANT_TYPE_COMMON,
  organizations: AzureADTenantType.AZURE_AD_TENANT_TYPE_ORGANISATIONS,
  consumers: AzureADTenantType.AZURE_AD_TENANT_TYPE_CONSUMERS,
} as const

function tenantOf(given: AzureADTenant | undefined): string {
  if (given?.type.case === "tenantId") return given.type.value
  const type = given?.type.value ?? tenants.common
  return Object.entries(tenants).find(([, value]) => value === type)?.[0] ?? "common"
}
