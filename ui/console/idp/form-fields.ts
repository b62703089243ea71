import type { LDAPAttributes, Provider } from "../../../src/gen/core/idp/v1/idp_pb.ts"
import type { AnyOf, MessageField, TextKey } from "../shell/index.ts"

type AnyConfiguration = NonNullable<Provider["config"]>["config"]

/** The stored configuration of one kind of provider. */
export type ConfigurationOf<Kind extends AnyConfiguration["case"]> = NonNullable<
  Extract<AnyConfiguration, { readonly case: Kind }>["value"]
>

type Configuration = ConfigurationOf<AnyConfiguration["case"]>

/** A configuration of any kind, with the fields of its kind. */
export type ConfigurationFields = AnyOf<Configuration>

/** How a text field is displayed. */
export type ProviderField = {
  readonly type: "text" | "url" | "secret" | "area"
  readonly optional?: true
  readonly placeholder?: string
  readonly hint?: TextKey
  readonly max?: number
}

/** All fields of providers by message field name; a form shows those of its kind. */
export const providerFields = {
  name: { type: "text", hint: "idps.hint.name" },
  issuer: { type: "url", placeholder: "https://login.example.org", max: 2048 },
  clientId: { type: "text" },
  clientSecret: { type: "secret", max: 1000 },
  scopes: { type: "text", optional: true, hint: "idps.hint.scopes", max: 2000 },
  authorizationEndpoint: { type: "url", max: 2048 },
  tokenEndpoint: { type: "url", max: 2048 },
  userEndpoint: { type: "url", hint: "idps.hint.userEndpoint", max: 2048 },
  idAttribute: { type: "text", placeholder: "id", hint: "idps.hint.idAttribute" },
  tenant: { type: "text", placeholder: "example.onmicrosoft.com", hint: "idps.hint.tenant" },
  teamId: { type: "text" },
  keyId: { type: "text" },
  privateKey: { type: "area", hint: "idps.hint.privateKey", max: 5000 },
  jwtEndpoint: { type: "url", hint: "idps.hint.jwtEndpoint", max: 2048 },
  keysEndpoint: { type: "url", hint: "idps.hint.keysEndpoint", max: 2048 },
  headerName: { type: "text", placeholder: "X-User-Token", hint: "idps.hint.headerName" },
  metadataUrl: {
    type: "url",
    optional: true,
    placeholder: "https://login.example.org/metadata",
    hint: "idps.hint.metadataUrl",
    max: 2048,
  },
  metadataXml: { type: "area", optional: true, hint: "idps.hint.metadataXml", max: 500_000 },
  transientMappingAttributeName: {
    type: "text",
    optional: true,
    hint: "idps.hint.transientMappingAttributeName",
  },
  servers: {
    type: "area",
    placeholder: "ldaps://ldap.example.org",
    hint: "idps.hint.servers",
    max: 4000,
  },
  rootCa: { type: "area", optional: true, hint: "idps.hint.rootCa", max: 12_000 },
  baseDn: { type: "text", placeholder: "ou=people,dc=example,dc=org" },
  bindDn: { type: "text", placeholder: "cn=reader,dc=example,dc=org", hint: "idps.hint.bindDn" },
  bindPassword: { type: "secret" },
  userFilters: { type: "text", placeholder: "uid mail", hint: "idps.hint.userFilters" },
  userObjectClasses: { type: "text", placeholder: "inetOrgPerson", max: 2000 },
  userBase: { type: "text", placeholder: "dn", hint: "idps.hint.userBase" },
  ldapId: { type: "text", optional: true, hint: "idps.hint.ldapId" },
  ldapUserName: { type: "text", optional: true, placeholder: "uid" },
  ldapFirstName: { type: "text", optional: true, placeholder: "givenName" },
  ldapLastName: { type: "text", optional: true, placeholder: "sn" },
  ldapDisplayName: { type: "text", optional: true, placeholder: "cn" },
  ldapEmail: { type: "text", optional: true, placeholder: "mail" },
  ldapEmailVerified: { type: "text", optional: true, hint: "idps.hint.ldapEmailVerified" },
} as const satisfies Readonly<Record<string, ProviderField>>

export type FieldName = keyof typeof providerFields

export const getField = (name: FieldName): ProviderField => providerFields[name]

/** Fields that configurations don't contain: secrets, and values stored elsewhere. */
export type UnstoredName = "name" | "clientSecret" | "privateKey" | "bindPassword" | "metadataUrl"

/** Directory attributes by message field name. */
export const attributeNames = {
  ldapId: "idAttribute",
  ldapUserName: "preferredUsernameAttribute",
  ldapFirstName: "firstNameAttribute",
  ldapLastName: "lastNameAttribute",
  ldapDisplayName: "displayNameAttribute",
  ldapEmail: "emailAttribute",
  ldapEmailVerified: "emailVerifiedAttribute",
} as const satisfies Partial<Readonly<Record<FieldName, keyof LDAPAttributes>>>

export type AttributeName = keyof typeof attributeNames

export const isAttribute = (name: FieldName): name is AttributeName =>
  Object.hasOwn(attributeNames, name)

/** The fields that the form of one kind of provider can have. */
export type FieldNameOf<Kind extends AnyConfiguration["case"]> =
  | UnstoredName
  | (FieldName & MessageField<ConfigurationOf<Kind>>)
  | (Kind extends "ldap" ? AttributeName : never)

/** Boolean settings of some kinds. */
export type CheckName =
  | ("usePkce" | "isIdTokenMapping" | "emailVerified" | "startTls")
  | ("withSignedRequest" | "federatedLogoutEnabled")

/** Selections of some kinds; the first option is the most common. */
export const choices = {
  binding: ["any", "redirect", "post"],
  nameIdFormat: ["persistent", "email", "transient", "unspecified"],
} as const

export type ChoiceName = keyof typeof choices
export type Choice<Name extends ChoiceName> = (typeof choices)[Name][number]

/** Options of all kinds for what happens after a sign-in. */
export const optionNames = [
  ...(["isCreationAllowed", "isAutoCreation", "isLinkingAllowed", "isAutoUpdate"] as const),
  ...(["forwardAcrValues", "acceptAsFresh", "isTrustedForAddresses"] as const),
  ...(["acceptMissingNonce", "acceptOtherAudiences"] as const),
  ...(["encryptAssertions", "trustDirectoryAddresses"] as const),
] as const
export type OptionName = (typeof optionNames)[number]
