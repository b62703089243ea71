import type { DescMethodUnary } from "@bufbuild/protobuf"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import type { Provider } from "../../../src/gen/core/idp/v1/idp_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { namesIn } from "../form/index.ts"
import {
  type CheckName,
  type ChoiceName,
  type ConfigurationOf,
  type FieldName,
  type FieldNameOf,
  type OptionName,
  optionNames,
} from "./form-fields.ts"

const admin = AdminService.method
const management = ManagementService.method

/** The operations that add and update a provider of a kind. */
export type ProviderOperations = { readonly add: DescMethodUnary; readonly update: DescMethodUnary }

export type ProviderKind = {
  /** The brand name, if the label isn't translated. */
  readonly brand?: string
  readonly fields: readonly FieldName[]
  readonly checks: readonly CheckName[]
  readonly choices?: readonly ChoiceName[]
  /** The kind of callback; undefined if users are not redirected. */
  readonly callback: "callback" | "jwt" | "saml" | undefined
  readonly instance: ProviderOperations
  readonly organization: ProviderOperations
}

const clientFields = ["clientId", "clientSecret", "scopes"] as const
const endpointFields = ["authorizationEndpoint", "tokenEndpoint", "userEndpoint"] as const
const vendorKind = { fields: ["name", ...clientFields], checks: [], callback: "callback" } as const

type Operation = keyof typeof admin & keyof typeof management

/** The operations have the same names for instances and organizations. */
const operations = (add: Operation, update: Operation) => ({
  instance: { add: admin[add], update: admin[update] },
  organization: { add: management[add], update: management[update] },
})

/** The form of each kind of provider, by message field names. */
export const kinds = {
  oidc: {
    fields: ["name", "issuer", ...clientFields],
    checks: ["usePkce", "isIdTokenMapping"],
    callback: "callback",
    ...operations("addGenericOIDCProvider", "updateGenericOIDCProvider"),
  },
  oauth: {
    fields: ["name", ...clientFields, ...endpointFields, "idAttribute"],
    checks: ["usePkce"],
    callback: "callback",
    ...operations("addGenericOAuthProvider", "updateGenericOAuthProvider"),
  },
  saml: {
    fields: ["name", "metadataUrl", "metadataXml", "transientMappingAttributeName"],
    choices: ["binding", "nameIdFormat"],
    checks: ["withSignedRequest", "federatedLogoutEnabled"],
    callback: "saml",
    ...operations("addSAMLProvider", "updateSAMLProvider"),
  },
  ldap: {
    fields: [
      ...(["name", "servers", "rootCa", "baseDn", "bindDn", "bindPassword"] as const),
      ...(["userFilters", "userObjectClasses", "userBase", "ldapId", "ldapUserName"] as const),
      ...(["ldapFirstName", "ldapLastName", "ldapDisplayName", "ldapEmail"] as const),
      "ldapEmailVerified",
    ],
    checks: ["startTls"],
    callback: undefined,
    ...operations("addLDAPProvider", "updateLDAPProvider"),
  },
  jwt: {
    fields: ["name", "issuer", "jwtEndpoint", "keysEndpoint", "headerName"],
    checks: [],
    callback: "jwt",
    ...operations("addJWTProvider", "updateJWTProvider"),
  },
  google: {
    ...vendorKind,
    brand: "Google",
    ...operations("addGoogleProvider", "updateGoogleProvider"),
  },
  azureAd: {
    brand: "Microsoft Entra ID",
    fields: ["name", "tenant", ...clientFields],
    checks: ["emailVerified"],
    callback: "callback",
    ...operations("addAzureADProvider", "updateAzureADProvider"),
  },
  apple: {
    brand: "Apple",
    fields: ["name", "clientId", "teamId", "keyId", "privateKey", "scopes"],
    checks: [],
    callback: "callback",
    ...operations("addAppleProvider", "updateAppleProvider"),
  },
  github: {
    ...vendorKind,
    brand: "GitHub",
    ...operations("addGitHubProvider", "updateGitHubProvider"),
  },
  githubEs: {
    brand: "GitHub Enterprise Server",
    fields: ["name", ...clientFields, ...endpointFields],
    checks: [],
    callback: "callback",
    ...operations("addGitHubEnterpriseServerProvider", "updateGitHubEnterpriseServerProvider"),
  },
  gitlab: {
    ...vendorKind,
    brand: "GitLab",
    ...operations("addGitLabProvider", "updateGitLabProvider"),
  },
  gitlabSelfHosted: {
    brand: "GitLab Self-Managed",
    fields: ["name", "issuer", ...clientFields],
    checks: [],
    callback: "callback",
    ...operations("addGitLabSelfHostedProvider", "updateGitLabSelfHostedProvider"),
  },
} as const satisfies { readonly [Name in ConfigurationCase]?: KindWithFieldsOf<Name> }

type ConfigurationCase = Extract<NonNullable<Provider["config"]>["config"]["case"], string>

/** A kind whose fields exist in the messages of its configuration. */
type KindWithFieldsOf<Name extends ConfigurationCase> = ProviderKind & {
  readonly fields: readonly FieldNameOf<Name>[]
  readonly checks: readonly (keyof ConfigurationOf<Name>)[]
  readonly choices?: readonly (keyof ConfigurationOf<Name>)[]
}

export type KindName = keyof typeof kinds

/** Options that have an effect for one kind of provider only. */
const requiredKindByOption: Partial<Readonly<Record<OptionName, KindName>>> = {
  acceptMissingNonce: "oidc",
  acceptOtherAudiences: "oidc",
  encryptAssertions: "saml",
  trustDirectoryAddresses: "ldap",
}

/** The options of a kind of provider. */
export const listOptions = (kind: KindName): readonly OptionName[] =>
  optionNames.filter((name) => (requiredKindByOption[name] ?? kind) === kind)

export const kindNames = namesIn(kinds)

export const getKind = (name: KindName): ProviderKind => kinds[name]

/** The kind of a provider; undefined for unknown kinds. */
export const findKindName = ({ config }: Provider): KindName | undefined =>
  kindNames.find((name) => name === config?.config.case)

/** The organization that owns the provider, or undefined for the instance. */
export type ProviderOwner = string | undefined

/** This server's endpoints to register at an existing SAML provider. */
export const samlAddresses = (id: string) =>
  (["metadata", "acs", "slo"] as const).map(
    (part) => [part, `${location.origin}/idps/${id}/saml/${part}`] as const,
  )

/**
 * The callback URL to register at a provider. Providers of organizations have separate URLs, which
 * exist only after creation.
 */
export function findCallbackUrl(
  name: KindName,
  owner: ProviderOwner,
  id: string | undefined,
): string | undefined {
  const { callback: back } = getKind(name)
  if (back === undefined || back === "saml") return undefined
  if (back === "jwt") return `${location.origin}/idps/jwt`
  if (owner === undefined) return `${location.origin}/idps/callback`
  return id === undefined ? undefined : `${location.origin}/idps/${id}/callback`
}
