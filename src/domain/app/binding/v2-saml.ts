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
  type SamlAttributes,
  type SamlMapping,
  type SamlUserField,
  usualAttributes,
} from "../saml/attributes.ts"
import { fetchMetadata, readMetadata } from "../saml/metadata.ts"
import { loginVersionOf, toLoginVersion } from "./v2-login.ts"

/** What a new application is asked to be; its metadata is fetched where only the address came. */
export async function newSaml(cx: Cx, req: CreateSAMLApplicationRequest): Promise<SamlConfig> {
  const said = await metadataOf(cx, req)
  if (!said) {
    const message = "give the metadata of the service provider: metadata_xml or metadata_url"
    throw new Fault("invalid_argument", "app.metadata_missing", message)
  }
  return {
    ...said,
    loginVersion: loginVersionOf(req.loginVersion) ?? { version: "unspecified" },
    enforceContext: req.enforceRequestedContext,
    ...(req.attributes && { attributes: attributesOf(req.attributes) }),
  }
}

/** What is to change. */
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

type Given = Pick<CreateSAMLApplicationRequest, "metadata">

async function metadataOf(cx: Cx, { metadata: { case: form, value } }: Given) {
  if (form === undefined) return undefined
  if (form === "metadataUrl") return { ...(await fetchMetadata(cx, value)), metadataUrl: value }
  return { ...(await readMetadata(value, cx.clock.now())), metadataUrl: "" }
}

/** A configuration as it is shown. */
export const toSaml = (saml: SamlConfig) => ({
  metadataXml: Buffer.from(saml.metadata),
  metadataUrl: saml.metadataUrl,
  loginVersion: toLoginVersion(saml.loginVersion),
  enforceRequestedContext: saml.enforceContext ?? false,
  attributes: toAttributes(saml.attributes ?? usualAttributes),
})

/** What is sent as the attributes of an application. */
function attributesOf(sent: SAMLAttributes): SamlAttributes {
  return {
    names: nameOf(attributeNames, sent.names) ?? usualAttributes.names,
    roles: sent.rolesAttribute,
    mappings: sent.mappings.map(({ name, format, source }) => ({
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
  const message = "attributes: each needs one of user_field, metadata_key and text"
  throw new Fault("invalid_argument", "app.saml_attributes_invalid", message)
}

/** Attributes as they are shown, and as they are sent to be set again. */
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

/** The name that a number of the interface stands for; undefined for "unspecified". */
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
