import {
  AutoLinkingOption,
  type AzureADTenant,
  AzureADTenantType,
  type Provider,
  SAMLBinding,
  SAMLNameIDFormat,
} from "../../../src/gen/core/idp/v1/idp_pb.ts"
import { linesOf, namesIn } from "../form/index.ts"
import {
  attributeNames,
  type CheckName,
  type Choice,
  type ChoiceName,
  type ConfigurationFields,
  choices,
  type FieldName,
  isAttribute,
  type OptionName,
  type UnstoredName,
} from "./form-fields.ts"
import { type KindName, kindNameOf, kindOf, optionsOf } from "./provider-kind.ts"

export const autoLinkings = ["off", "username", "email"] as const
export type AutoLinking = (typeof autoLinkings)[number]

const autoLinkingNumbers: Readonly<Record<AutoLinking, AutoLinkingOption>> = {
  off: AutoLinkingOption.UNSPECIFIED,
  username: AutoLinkingOption.USERNAME,
  email: AutoLinkingOption.EMAIL,
}

const choiceNumbers: { readonly [Name in ChoiceName]: Readonly<Record<Choice<Name>, number>> } = {
  binding: {
    any: SAMLBinding.SAML_BINDING_UNSPECIFIED,
    redirect: SAMLBinding.SAML_BINDING_REDIRECT,
    post: SAMLBinding.SAML_BINDING_POST,
  },
  nameIdFormat: {
    persistent: SAMLNameIDFormat.SAML_NAME_ID_FORMAT_PERSISTENT,
    email: SAMLNameIDFormat.SAML_NAME_ID_FORMAT_EMAIL_ADDRESS,
    transient: SAMLNameIDFormat.SAML_NAME_ID_FORMAT_TRANSIENT,
    unspecified: SAMLNameIDFormat.SAML_NAME_ID_FORMAT_UNSPECIFIED,
  },
}

/** What a form holds. */
export type Values = Readonly<Record<FieldName, string>> &
  Readonly<Record<CheckName | OptionName, boolean>> & {
    readonly [Name in ChoiceName]: Choice<Name>
  } & {
    readonly kind: KindName
    readonly autoLinking: AutoLinking
    /** One domain a line. */
    readonly allowedDomains: string
  }

export const tenants = {
  common: AzureADTenantType.AZURE_AD_TENANT_TYPE_COMMON,
  organizations: AzureADTenantType.AZURE_AD_TENANT_TYPE_ORGANISATIONS,
  consumers: AzureADTenantType.AZURE_AD_TENANT_TYPE_CONSUMERS,
} as const

/**
 * A new provider links accounts that exist. It creates none until an administrator turns that on:
 * anybody with an account at a public provider would get one here.
 */
const fresh = {
  isCreationAllowed: false,
  isAutoCreation: false,
  isLinkingAllowed: true,
  isAutoUpdate: false,
  usePkce: true,
  isIdTokenMapping: false,
  emailVerified: false,
  startTls: false,
  withSignedRequest: true,
  federatedLogoutEnabled: false,
  forwardAcrValues: false,
  acceptAsFresh: false,
  isTrustedForAddresses: false,
  acceptMissingNonce: false,
  acceptOtherAudiences: false,
  encryptAssertions: false,
  trustDirectoryAddresses: false,
} as const

const usual: Partial<Readonly<Record<FieldName, string>>> = {
  idAttribute: "id",
  userBase: "dn",
  userFilters: "uid mail",
  userObjectClasses: "inetOrgPerson",
  ldapUserName: "uid",
  ldapFirstName: "givenName",
  ldapLastName: "sn",
  ldapDisplayName: "cn",
  ldapEmail: "mail",
}

/** The stored values of a provider; for a new one, what its form begins with. */
export function valuesOf(provider: Provider | undefined): Values {
  const { config, options } = provider?.config ?? {}
  const configuration: ConfigurationFields = config?.value ?? {}
  const isChecked = (name: CheckName) => (provider ? configuration[name] === true : fresh[name])
  const isOption = (name: OptionName) => (provider ? options?.[name] === true : fresh[name])
  const number = provider ? options?.autoLinking : AutoLinkingOption.EMAIL
  return {
    ...textsBy((name) => (provider ? textIn(configuration, name) : (usual[name] ?? ""))),
    name: provider?.name ?? "",
    kind: (provider && kindNameOf(provider)) ?? "oidc",
    usePkce: isChecked("usePkce"),
    isIdTokenMapping: isChecked("isIdTokenMapping"),
    emailVerified: isChecked("emailVerified"),
    startTls: isChecked("startTls"),
    withSignedRequest: isChecked("withSignedRequest"),
    federatedLogoutEnabled: isChecked("federatedLogoutEnabled"),
    binding: chosen("binding", configuration),
    nameIdFormat: chosen("nameIdFormat", configuration),
    isCreationAllowed: isOption("isCreationAllowed"),
    isAutoCreation: isOption("isAutoCreation"),
    isLinkingAllowed: isOption("isLinkingAllowed"),
    isAutoUpdate: isOption("isAutoUpdate"),
    forwardAcrValues: isOption("forwardAcrValues"),
    acceptAsFresh: isOption("acceptAsFresh"),
    isTrustedForAddresses: isOption("isTrustedForAddresses"),
    acceptMissingNonce: isOption("acceptMissingNonce"),
    acceptOtherAudiences: isOption("acceptOtherAudiences"),
    // A provider from before this was stored publishes an encryption key.
    encryptAssertions: options ? (options.encryptAssertions ?? true) : fresh.encryptAssertions,
    trustDirectoryAddresses: isOption("trustDirectoryAddresses"),
    autoLinking: autoLinkings.find((name) => autoLinkingNumbers[name] === number) ?? "off",
    allowedDomains: (options?.allowedDomains ?? []).join("\n"),
  }
}

/** The stored choice, or the first one. */
function chosen<Name extends ChoiceName>(
  name: Name,
  configuration: ConfigurationFields,
): Choice<Name> {
  const number = configuration[name]
  const known: readonly Choice<Name>[] = choices[name]
  const [first] = known
  const found = known.find((each) => choiceNumbers[name][each] === number) ?? first
  if (found === undefined) throw new Error(`there is nothing to choose from: ${name}`)
  return found
}

/** A text that the configuration contains. */
type StoredName = Exclude<FieldName, UnstoredName>

/** Every text by its name; secrets never come back. */
const textsBy = (of: (name: StoredName) => string) => ({
  issuer: of("issuer"),
  clientId: of("clientId"),
  clientSecret: "",
  scopes: of("scopes"),
  authorizationEndpoint: of("authorizationEndpoint"),
  tokenEndpoint: of("tokenEndpoint"),
  userEndpoint: of("userEndpoint"),
  idAttribute: of("idAttribute"),
  tenant: of("tenant"),
  teamId: of("teamId"),
  keyId: of("keyId"),
  privateKey: "",
  jwtEndpoint: of("jwtEndpoint"),
  keysEndpoint: of("keysEndpoint"),
  headerName: of("headerName"),
  metadataUrl: "",
  metadataXml: of("metadataXml"),
  transientMappingAttributeName: of("transientMappingAttributeName"),
  servers: of("servers"),
  rootCa: of("rootCa"),
  baseDn: of("baseDn"),
  bindDn: of("bindDn"),
  bindPassword: "",
  userFilters: of("userFilters"),
  userObjectClasses: of("userObjectClasses"),
  userBase: of("userBase"),
  ldapId: of("ldapId"),
  ldapUserName: of("ldapUserName"),
  ldapFirstName: of("ldapFirstName"),
  ldapLastName: of("ldapLastName"),
  ldapDisplayName: of("ldapDisplayName"),
  ldapEmail: of("ldapEmail"),
  ldapEmailVerified: of("ldapEmailVerified"),
})

function textIn(configuration: ConfigurationFields, name: StoredName): string {
  if (isAttribute(name)) return configuration.attributes?.[attributeNames[name]] ?? ""
  return textOf(configuration[name])
}

type StoredText = string | Uint8Array | readonly string[] | AzureADTenant

function textOf(value: StoredText | undefined): string {
  if (value === undefined || typeof value === "string") return value ?? ""
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  return "type" in value ? tenantOf(value) : value.join(" ")
}

function tenantOf({ type }: AzureADTenant): string {
  if (type.case === "tenantId") return type.value
  return namesIn(tenants).find((name) => tenants[name] === type.value) ?? "common"
}

/** What the operations of all kinds take; each reads what it has a name for. */
export function requestOf(values: Values, before: Provider | undefined) {
  const { usePkce, isIdTokenMapping, emailVerified, startTls } = values
  const { withSignedRequest, federatedLogoutEnabled } = values
  const said = before?.config?.config
  const own = said?.case === "ldap" ? said.value : undefined
  const texts = Object.fromEntries(
    kindOf(values.kind)
      .fields.filter((name) => !isAttribute(name))
      .map((name) => [name, secrets.has(name) ? values[name] : values[name].trim()]),
  )
  const bytes = (text: string) => new TextEncoder().encode(text.trim() && `${text.trim()}\n`)
  return {
    ...texts,
    usePkce,
    isIdTokenMapping,
    emailVerified,
    startTls,
    withSignedRequest,
    federatedLogoutEnabled,
    metadata: metadataFrom(values),
    binding: choiceNumbers.binding[values.binding],
    nameIdFormat: choiceNumbers.nameIdFormat[values.nameIdFormat],
    scopes: linesOf(values.scopes),
    privateKey: bytes(values.privateKey),
    tenant: tenantFrom(values.tenant.trim()),
    servers: linesOf(values.servers),
    userFilters: linesOf(values.userFilters),
    userObjectClasses: linesOf(values.userObjectClasses),
    rootCa: bytes(values.rootCa),
    ...(own?.timeout && { timeout: own.timeout }),
    attributes: { ...own?.attributes, ...attributesOf(values) },
    providerOptions: {
      ...Object.fromEntries(optionsOf(values.kind).map((name) => [name, values[name]])),
      autoLinking: autoLinkingNumbers[values.autoLinking],
      allowedDomains: linesOf(values.allowedDomains),
    },
  }
}

/** An address says more than what stood there once: its keys may change. */
const metadataFrom = ({ metadataUrl, metadataXml }: Values) =>
  metadataUrl.trim() === ""
    ? ({ case: "metadataXml", value: new TextEncoder().encode(metadataXml) } as const)
    : ({ case: "metadataUrl", value: metadataUrl.trim() } as const)

const secrets: ReadonlySet<FieldName> = new Set(["clientSecret", "bindPassword"])

const attributesOf = (values: Values) => ({
  idAttribute: values.ldapId.trim(),
  preferredUsernameAttribute: values.ldapUserName.trim(),
  firstNameAttribute: values.ldapFirstName.trim(),
  lastNameAttribute: values.ldapLastName.trim(),
  displayNameAttribute: values.ldapDisplayName.trim(),
  emailAttribute: values.ldapEmail.trim(),
  emailVerifiedAttribute: values.ldapEmailVerified.trim(),
})

function tenantFrom(text: string) {
  const [, several] = Object.entries(tenants).find(([name]) => name === text) ?? []
  return several === undefined
    ? ({ type: { case: "tenantId", value: text } } as const)
    : ({ type: { case: "tenantType", value: several } } as const)
}
