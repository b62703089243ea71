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
import { findKindName, getKind, type KindName, listOptions } from "./provider-kind.ts"

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

/** The values of the provider form. */
export type ProviderValues = Readonly<Record<FieldName, string>> &
  Readonly<Record<CheckName | OptionName, boolean>> & {
    readonly [Name in ChoiceName]: Choice<Name>
  } & {
    readonly kind: KindName
    readonly autoLinking: AutoLinking
    /** One domain per line. */
    readonly allowedDomains: string
  }

export const tenants = {
  common: AzureADTenantType.AZURE_AD_TENANT_TYPE_COMMON,
  organizations: AzureADTenantType.AZURE_AD_TENANT_TYPE_ORGANISATIONS,
  consumers: AzureADTenantType.AZURE_AD_TENANT_TYPE_CONSUMERS,
} as const

/**
 * New providers link existing accounts. They don't create accounts until an administrator enables
 * it, because anyone with an account at a public provider would get one here.
 */
const newProviderOptions = {
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

const defaultTexts: Partial<Readonly<Record<FieldName, string>>> = {
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

/** The stored values of a provider, or the defaults for a new one. */
export function toFormValues(provider: Provider | undefined): ProviderValues {
  const { config, options } = provider?.config ?? {}
  const configuration: ConfigurationFields = config?.value ?? {}
  const isChecked = (name: CheckName) =>
    provider ? configuration[name] === true : newProviderOptions[name]
  const isOption = (name: OptionName) =>
    provider ? options?.[name] === true : newProviderOptions[name]
  const number = provider ? options?.autoLinking : AutoLinkingOption.EMAIL
  return {
    ...allTexts((name) => (provider ? getText(configuration, name) : (defaultTexts[name] ?? ""))),
    name: provider?.name ?? "",
    kind: (provider && findKindName(provider)) ?? "oidc",
    usePkce: isChecked("usePkce"),
    isIdTokenMapping: isChecked("isIdTokenMapping"),
    emailVerified: isChecked("emailVerified"),
    startTls: isChecked("startTls"),
    withSignedRequest: isChecked("withSignedRequest"),
    federatedLogoutEnabled: isChecked("federatedLogoutEnabled"),
    binding: chosenOption("binding", configuration),
    nameIdFormat: chosenOption("nameIdFormat", configuration),
    isCreationAllowed: isOption("isCreationAllowed"),
    isAutoCreation: isOption("isAutoCreation"),
    isLinkingAllowed: isOption("isLinkingAllowed"),
    isAutoUpdate: isOption("isAutoUpdate"),
    forwardAcrValues: isOption("forwardAcrValues"),
    acceptAsFresh: isOption("acceptAsFresh"),
    isTrustedForAddresses: isOption("isTrustedForAddresses"),
    acceptMissingNonce: isOption("acceptMissingNonce"),
    acceptOtherAudiences: isOption("acceptOtherAudiences"),
    // Providers from before this was stored publish an encryption key.
    encryptAssertions: options
      ? (options.encryptAssertions ?? true)
      : newProviderOptions.encryptAssertions,
    trustDirectoryAddresses: isOption("trustDirectoryAddresses"),
    autoLinking: autoLinkings.find((name) => autoLinkingNumbers[name] === number) ?? "off",
    allowedDomains: (options?.allowedDomains ?? []).join("\n"),
  }
}

/** The stored option, or the first one. */
function chosenOption<Name extends ChoiceName>(
  name: Name,
  configuration: ConfigurationFields,
): Choice<Name> {
  const number = configuration[name]
  const choiceOptions: readonly Choice<Name>[] = choices[name]
  const [first] = choiceOptions
  const found = choiceOptions.find((each) => choiceNumbers[name][each] === number) ?? first
  if (found === undefined) throw new Error(`no options defined for: ${name}`)
  return found
}

/** A text field that the configuration contains. */
type StoredName = Exclude<FieldName, UnstoredName>

/** All texts by name; secrets are never returned. */
const allTexts = (of: (name: StoredName) => string) => ({
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

function getText(configuration: ConfigurationFields, name: StoredName): string {
  if (isAttribute(name)) return configuration.attributes?.[attributeNames[name]] ?? ""
  return toText(configuration[name])
}

type StoredText = string | Uint8Array | readonly string[] | AzureADTenant

function toText(value: StoredText | undefined): string {
  if (value === undefined || typeof value === "string") return value ?? ""
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  return "type" in value ? fromTenant(value) : value.join(" ")
}

function fromTenant({ type }: AzureADTenant): string {
  if (type.case === "tenantId") return type.value
  return namesIn(tenants).find((name) => tenants[name] === type.value) ?? "common"
}

/** The request for any kind; each operation reads the fields it defines. */
export function toRequest(values: ProviderValues, before: Provider | undefined) {
  const { usePkce, isIdTokenMapping, emailVerified, startTls } = values
  const { withSignedRequest, federatedLogoutEnabled } = values
  const storedConfig = before?.config?.config
  const own = storedConfig?.case === "ldap" ? storedConfig.value : undefined
  const texts = Object.fromEntries(
    getKind(values.kind)
      .fields.filter((name) => !isAttribute(name))
      .map((name) => [name, secretFields.has(name) ? values[name] : values[name].trim()]),
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
    metadata: toMetadata(values),
    binding: choiceNumbers.binding[values.binding],
    nameIdFormat: choiceNumbers.nameIdFormat[values.nameIdFormat],
    scopes: linesOf(values.scopes),
    privateKey: bytes(values.privateKey),
    tenant: toTenant(values.tenant.trim()),
    servers: linesOf(values.servers),
    userFilters: linesOf(values.userFilters),
    userObjectClasses: linesOf(values.userObjectClasses),
    rootCa: bytes(values.rootCa),
    ...(own?.timeout && { timeout: own.timeout }),
    attributes: { ...own?.attributes, ...toAttributes(values) },
    providerOptions: {
      ...Object.fromEntries(listOptions(values.kind).map((name) => [name, values[name]])),
      autoLinking: autoLinkingNumbers[values.autoLinking],
      allowedDomains: linesOf(values.allowedDomains),
    },
  }
}

/** A URL takes precedence over stored XML, because its keys may change. */
const toMetadata = ({ metadataUrl, metadataXml }: ProviderValues) =>
  metadataUrl.trim() === ""
    ? ({ case: "metadataXml", value: new TextEncoder().encode(metadataXml) } as const)
    : ({ case: "metadataUrl", value: metadataUrl.trim() } as const)

const secretFields: ReadonlySet<FieldName> = new Set(["clientSecret", "bindPassword"])

const toAttributes = (values: ProviderValues) => ({
  idAttribute: values.ldapId.trim(),
  preferredUsernameAttribute: values.ldapUserName.trim(),
  firstNameAttribute: values.ldapFirstName.trim(),
  lastNameAttribute: values.ldapLastName.trim(),
  displayNameAttribute: values.ldapDisplayName.trim(),
  emailAttribute: values.ldapEmail.trim(),
  emailVerifiedAttribute: values.ldapEmailVerified.trim(),
})

function toTenant(text: string) {
  const [, several] = Object.entries(tenants).find(([name]) => name === text) ?? []
  return several === undefined
    ? ({ type: { case: "tenantId", value: text } } as const)
    : ({ type: { case: "tenantType", value: several } } as const)
}
