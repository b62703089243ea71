import {
  SAMLAttributeFormat,
  type SAMLAttributeMapping,
  SAMLAttributeNames,
  type SAMLAttributes,
  SAMLUserField,
} from "../../../gen/core/application/v2/application_pb.ts"
import type {
  CreateSAMLApplicationRequest,
  UpdateSAMLApplicationConfigurationRequest,
} from "../../../gen/core/application/v2/application_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import type { SamlConfig } from "../model.ts"
import {
  type AttributeFormat,
  type AttributeNames,
  defaultAttributes,
  type SamlAttributes,
  type SamlMapping,
  type SamlUserField,
} from "../saml/attributes.ts"
import { fetchMetadata, parseMetadata } from "../saml/metadata.ts"
import { loginVersionOf, toLoginVersion } from "./v2-login.ts"

/**
 * The configuration of a new SAML application. Metadata is fetched if the request contains only its
 * URL.
 */
export async function newSaml(cx: Cx, req: CreateSAMLApplicationRequest): Promise<SamlConfig> {
  const metadata = await metadataOf(cx, req)
  if (!metadata) {
    const message = "metadata_xml or metadata_url is required: the metadata of the service provider"
    throw new Fault("invalid_argument", "app.metadata_missing", message)
  }
  return {
    ...metadata,
    loginVersion: loginVersionOf(req.loginVersion) ?? { version: "unspecified" },
    enforceContext: req.enforceRequestedContext,
    ...(req.attributes && { attributes: attributesOf(req.attributes) }),
  }
}

/** The SAML settings to update. */
export async function samlChange(
  cx: Cx,
  req: UpdateSAMLApplicationConfigurationRequest,
): Promise<Partial<SamlConfig>> {
  const loginVersion = loginVersionOf(req.loginVersion)
  const enforceContext = req.enforceRequestedContext
  return {
    ...(await metadataOf(cx, req)),
    ...(loginVersion && { loginVersion }),
    ...(enforceContext !== undefined && { enforceContext }),
    ...(req.attributes && { attributes: attributesOf(req.attributes) }),
  }
}

type MetadataFields = Pick<CreateSAMLApplicationRequest, "metadata">

async function metadataOf(cx: Cx, { metadata: { case: form, value } }: MetadataFields) {
  if (form === undefined) return undefined
  if (form === "metadataUrl") return { ...(await fetchMetadata(cx, value)), metadataUrl: value }
  return { ...(await parseMetadata(value, cx.clock.now())), metadataUrl: "" }
}

/** A SAML configuration as a message of the API. */
export const toSaml = (saml: SamlConfig) => ({
  metadataXml: Buffer.from(saml.metadata),
  metadataUrl: saml.metadataUrl,
  loginVersion: toLoginVersion(saml.loginVersion),
  enforceRequestedContext: saml.enforceContext ?? false,
  attributes: toAttributes(saml.attributes ?? defaultAttributes),
})

/** The attribute settings of a request. */
function attributesOf(attributes: SAMLAttributes): SamlAttributes {
  return {
    names: nameOf(attributeNames, attributes.names) ?? defaultAttributes.names,
    roles: attributes.rolesAttribute,
    mappings: attributes.mappings.map(({ name, format, source }) => ({
      name,
      format: nameOf(attributeFormats, format) ?? "unspecified",
      source: sourceOf(source),
    })),
  }
}

function sourceOf(source: SAMLAttributeMapping["source"]): SamlMapping["source"] {
  if (source.case === "metadataKey") return { kind: "metadata", key: source.value }
  if (source.case === "text") return { kind: "text", text: source.value }
  const field = source.case === "userField" ? nameOf(userFields, source.value) : undefined
  if (field !== undefined) return { kind: "field", field }
  const message = "attributes: each mapping requires one of user_field, metadata_key, text"
  throw new Fault("invalid_argument", "app.saml_attributes_invalid", message)
}

/** Attribute settings as a message of the API, in the form that requests accept. */
export const toAttributes = ({ names, roles, mappings }: SamlAttributes) => ({
  names: attributeNames[names],
  rolesAttribute: roles,
  mappings: mappings.map(({ name, format, source }) => ({
    name,
    format: attributeFormats[format],
    source: toSource(source),
  })),
})

function toSource(source: SamlMapping["source"]) {
  if (source.kind === "metadata") return { case: "metadataKey", value: source.key } as const
  if (source.kind === "text") return { case: "text", value: source.text } as const
  return { case: "userField", value: userFields[source.field] } as const
}

/** The name of an enum number; undefined for "unspecified". */
const nameOf = <Name extends string>(
  numbers: Readonly<Record<Name, number>>,
  value: number,
): Name | undefined =>
  Object.keys(numbers)
    .filter((name): name is Name => Object.hasOwn(numbers, name))
    .find((name) => numbers[name] === value)

const attributeNames: Readonly<Record<AttributeNames, SAMLAttributeNames>> = {
  short: SAMLAttributeNames.SAML_ATTRIBUTE_NAMES_SHORT,
  oid: SAMLAttributeNames.SAML_ATTRIBUTE_NAMES_OID,
  microsoft: SAMLAttributeNames.SAML_ATTRIBUTE_NAMES_MICROSOFT,
}

const attributeFormats: Readonly<Record<AttributeFormat, SAMLAttributeFormat>> = {
  unspecified: SAMLAttributeFormat.SAML_ATTRIBUTE_FORMAT_UNSPECIFIED,
  basic: SAMLAttributeFormat.SAML_ATTRIBUTE_FORMAT_BASIC,
  uri: SAMLAttributeFormat.SAML_ATTRIBUTE_FORMAT_URI,
}

const userFields: Readonly<Record<SamlUserField, SAMLUserField>> = {
  userId: SAMLUserField.SAML_USER_FIELD_USER_ID,
  userName: SAMLUserField.SAML_USER_FIELD_USER_NAME,
  loginName: SAMLUserField.SAML_USER_FIELD_LOGIN_NAME,
  email: SAMLUserField.SAML_USER_FIELD_EMAIL,
  phone: SAMLUserField.SAML_USER_FIELD_PHONE,
  firstName: SAMLUserField.SAML_USER_FIELD_FIRST_NAME,
  lastName: SAMLUserField.SAML_USER_FIELD_LAST_NAME,
  displayName: SAMLUserField.SAML_USER_FIELD_DISPLAY_NAME,
  nickName: SAMLUserField.SAML_USER_FIELD_NICK_NAME,
  preferredLanguage: SAMLUserField.SAML_USER_FIELD_PREFERRED_LANGUAGE,
  organizationId: SAMLUserField.SAML_USER_FIELD_ORGANIZATION_ID,
  organizationName: SAMLUserField.SAML_USER_FIELD_ORGANIZATION_NAME,
}
