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

/** The operations that make and change one. */
export type ProviderOperations = { readonly add: DescMethodUnary; readonly update: DescMethodUnary }

export type Kind = {
  /** Its own name, which is the same in every language; the others have a text. */
  readonly brand?: string
  readonly fields: readonly FieldName[]
  readonly checks: readonly CheckName[]
  readonly choices?: readonly ChoiceName[]
  /** Where people come back to; undefined where they never leave. */
  readonly back: "callback" | "jwt" | "saml" | undefined
  readonly instance: ProviderOperations
  readonly organization: ProviderOperations
}

const client = ["clientId", "clientSecret", "scopes"] as const
const endpoints = ["authorizationEndpoint", "tokenEndpoint", "userEndpoint"] as const
const vendor = { fields: ["name", ...client], checks: [], back: "callback" } as const

type Operation = keyof typeof admin & keyof typeof management

/** What makes and what changes one: the instance and organisations call it the same. */
const by = (add: Operation, update: Operation) => ({
  instance: { add: admin[add], update: admin[update] },
  organization: { add: management[add], update: management[update] },
})

/** How each kind of provider is set up, by the names of messages; the ninth costs one row. */
export const kinds = {
  oidc: {
    fields: ["name", "issuer", ...client],
    checks: ["usePkce", "isIdTokenMapping"],
    back: "callback",
    ...by("addGenericOIDCProvider", "updateGenericOIDCProvider"),
  },
  oauth: {
    fields: ["name", ...client, ...endpoints, "idAttribute"],
    checks: ["usePkce"],
    back: "callback",
    ...by("addGenericOAuthProvider", "updateGenericOAuthProvider"),
  },
  saml: {
    fields: ["name", "metadataUrl", "metadataXml", "transientMappingAttributeName"],
    choices: ["binding", "nameIdFormat"],
    checks: ["withSignedRequest", "federatedLogoutEnabled"],
    back: "saml",
    ...by("addSAMLProvider", "updateSAMLProvider"),
  },
  ldap: {
    fields: [
      ...(["name", "servers", "rootCa", "baseDn", "bindDn", "bindPassword"] as const),
      ...(["userFilters", "userObjectClasses", "userBase", "ldapId", "ldapUserName"] as const),
      ...(["ldapFirstName", "ldapLastName", "ldapDisplayName", "ldapEmail"] as const),
      "ldapEmailVerified",
    ],
    checks: ["startTls"],
    back: undefined,
    ...by("addLDAPProvider", "updateLDAPProvider"),
  },
  jwt: {
    fields: ["name", "issuer", "jwtEndpoint", "keysEndpoint", "headerName"],
    checks: [],
    back: "jwt",
    ...by("addJWTProvider", "updateJWTProvider"),
  },
  google: {
    ...vendor,
    brand: "Google",
    ...by("addGoogleProvider", "updateGoogleProvider"),
  },
  azureAd: {
    brand: "Microsoft Entra ID",
    fields: ["name", "tenant", ...client],
    checks: ["emailVerified"],
    back: "callback",
    ...by("addAzureADProvider", "updateAzureADProvider"),
  },
  apple: {
    brand: "Apple",
    fields: ["name", "clientId", "teamId", "keyId", "privateKey", "scopes"],
    checks: [],
    back: "callback",
    ...by("addAppleProvider", "updateAppleProvider"),
  },
  github: {
    ...vendor,
    brand: "GitHub",
    ...by("addGitHubProvider", "updateGitHubProvider"),
  },
  githubEs: {
    brand: "GitHub Enterprise Server",
    fields: ["name", ...client, ...endpoints],
    checks: [],
    back: "callback",
    ...by("addGitHubEnterpriseServerProvider", "updateGitHubEnterpriseServerProvider"),
  },
  gitlab: {
    ...vendor,
    brand: "GitLab",
    ...by("addGitLabProvider", "updateGitLabProvider"),
  },
  gitlabSelfHosted: {
    brand: "GitLab Self-Managed",
    fields: ["name", "issuer", ...client],
    checks: [],
    back: "callback",
    ...by("addGitLabSelfHostedProvider", "updateGitLabSelfHostedProvider"),
  },
} as const satisfies { readonly [Name in ConfigurationCase]?: KindWithFieldsOf<Name> }

type ConfigurationCase = Extract<NonNullable<Provider["config"]>["config"]["case"], string>

/** A kind with fields that exist in the messages of its configuration. */
type KindWithFieldsOf<Name extends ConfigurationCase> = Kind & {
  readonly fields: readonly FieldNameOf<Name>[]
  readonly checks: readonly (keyof ConfigurationOf<Name>)[]
  readonly choices?: readonly (keyof ConfigurationOf<Name>)[]
}

export type KindName = keyof typeof kinds

/** Options that have an effect for one kind of provider only. */
const kindOfOption: Partial<Readonly<Record<OptionName, KindName>>> = {
  acceptMissingNonce: "oidc",
  acceptOtherAudiences: "oidc",
  encryptAssertions: "saml",
  trustDirectoryAddresses: "ldap",
}

/** The options of a kind of provider. */
export const optionsOf = (kind: KindName): readonly OptionName[] =>
  optionNames.filter((name) => (kindOfOption[name] ?? kind) === kind)

export const kindNames = namesIn(kinds)

export const kindOf = (name: KindName): Kind => kinds[name]

/** The kind of a provider; undefined for one that is not set up here. */
export const kindNameOf = ({ config }: Provider): KindName | undefined =>
  kindNames.find((name) => name === config?.config.case)

/** The organisation whose provider it is; undefined: the instance's. */
export type ProviderOwner = string | undefined

/** What a provider that speaks SAML has to know of us, once it is there. */
export const samlAddresses = (id: string) =>
  (["metadata", "acs", "slo"] as const).map(
    (part) => [part, `${location.origin}/idps/${id}/saml/${part}`] as const,
  )

/**
 * What has to be entered at a provider for it to send people back; those of organisations have an
 * address each, which there is once they are there.
 */
export function backOf(
  name: KindName,
  place: ProviderOwner,
  id: string | undefined,
): string | undefined {
  const { back } = kindOf(name)
  if (back === undefined || back === "saml") return undefined
  if (back === "jwt") return `${location.origin}/idps/jwt`
  if (place === undefined) return `${location.origin}/idps/callback`
  return id === undefined ? undefined : `${location.origin}/idps/${id}/callback`
}
