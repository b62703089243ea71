import type { SamlAttribute as Added } from "../../domain/action/index.ts"
import {
  type AttributeFormat,
  type AttributeNames,
  defaultAttributes,
  type SamlApp,
  type SamlMapping,
  type SamlUserField,
} from "../../domain/app/index.ts"
import { listRolesByOrg } from "../../domain/authorization/index.ts"
import { isActive, permissionsOn, stateReader } from "../../domain/member/index.ts"
import { org } from "../../domain/org/index.ts"
import { listMetadata } from "../../domain/user/index.ts"
import { displayNames, type UserInfo } from "../../domain/user-lookup/index.ts"
import { user } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"

/** An attribute of an assertion; `friendlyName` is for people. */
export type Attribute = Added & { readonly friendlyName?: string | undefined }

const formats: Readonly<Record<AttributeFormat, string>> = {
  basic: "urn:oasis:names:tc:SAML:2.0:attrname-format:basic",
  uri: "urn:oasis:names:tc:SAML:2.0:attrname-format:uri",
  unspecified: "urn:oasis:names:tc:SAML:2.0:attrname-format:unspecified",
}

const defaultNames = ["Email", "SurName", "FirstName", "FullName", "UserName", "UserID"] as const
type DefaultName = (typeof defaultNames)[number]

/** RFC 4524, RFC 4519 and RFC 2798, as in pysaml2, Shibboleth and SimpleSAMLphp. */
const oidNames: Readonly<
  Record<DefaultName, readonly [name: string, friendlyName: string] | undefined>
> = {
  Email: ["urn:oid:0.9.2342.19200300.100.1.3", "mail"],
  SurName: ["urn:oid:2.5.4.4", "sn"],
  FirstName: ["urn:oid:2.5.4.42", "givenName"],
  FullName: ["urn:oid:2.16.840.1.113730.3.1.241", "displayName"],
  UserName: ["urn:oid:0.9.2342.19200300.100.1.1", "uid"],
  // LDAP has no attribute for it.
  UserID: undefined,
}

const claims = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/"

/** The names of Microsoft Entra ID and AD FS. */
const microsoftNames: Readonly<Record<DefaultName, string>> = {
  Email: `${claims}emailaddress`,
  SurName: `${claims}surname`,
  FirstName: `${claims}givenname`,
  FullName: "http://schemas.microsoft.com/identity/claims/displayname",
  UserName: `${claims}name`,
  UserID: "http://schemas.microsoft.com/identity/claims/objectidentifier",
}

export type AttributeSubject = {
  readonly state: SamlApp
  readonly userId: string
  /** The user data that the application can receive. */
  readonly user: UserInfo
}

/**
 * Attribute names that scripts and targets can't set, whether the attributes have a value or not.
 */
export const reservedNames = ({ saml }: Pick<SamlApp, "saml">): readonly string[] => {
  const { names, roles, mappings } = saml.attributes ?? defaultAttributes
  const defaultAttributeNames = defaultNames.map((name) => attributeNameOf(names, name).name)
  return [...defaultNames, ...defaultAttributeNames, roles, ...mappings.map(({ name }) => name)]
}

/**
 * The attributes of a user for an application, without scripts and targets; empty ones are omitted.
 */
export function attributesFor(cx: Cx, subject: AttributeSubject): readonly Attribute[] {
  const { state, userId } = subject
  const { roles, mappings } = state.saml.attributes ?? defaultAttributes
  const mapped = mappings.map((mapping) => mappedAttribute(cx, mapping, subject))
  const keys =
    roles === "" ? [] : listRolesByOrg(cx, userId, state.projectId).flatMap((held) => held.keys)
  const names = new Set([roles, ...mappings.map(({ name }) => name)])
  return [
    // A mapping with the same name replaces the default attribute.
    ...defaultAttributesOf(subject).filter(({ name }) => !names.has(name)),
    { name: roles, format: formats.basic, values: [...new Set(keys)] },
    ...mapped,
  ].filter(({ values }) => values.length > 0)
}

/** Unverified email addresses are omitted, because they may not belong to the user. */
function defaultAttributesOf({
  state,
  user: info,
  userId,
}: AttributeSubject): readonly Attribute[] {
  const defaultValues: Readonly<Record<DefaultName, string>> = {
    Email: info.emailVerified ? info.email : "",
    SurName: info.familyName,
    FirstName: info.givenName,
    FullName: info.name,
    UserName: info.userName,
    UserID: userId,
  }
  const { names } = state.saml.attributes ?? defaultAttributes
  return defaultNames.map((name) => ({
    ...attributeNameOf(names, name),
    values: defaultValues[name] === "" ? [] : [defaultValues[name]],
  }))
}

/** The name of a default attribute in a naming scheme. */
function attributeNameOf(names: AttributeNames, name: DefaultName): Omit<Attribute, "values"> {
  if (names === "microsoft") return { name: microsoftNames[name], format: formats.unspecified }
  const [oid, friendlyName] = (names === "oid" && oidNames[name]) || []
  return oid === undefined
    ? { name, format: formats.basic }
    : { name: oid, format: formats.uri, friendlyName }
}

function mappedAttribute(
  cx: Cx,
  { name, format, source }: SamlMapping,
  subject: AttributeSubject,
): Attribute {
  const value = sourceValue(cx, source, subject)
  return { name, format: formats[format], values: value === "" ? [] : [value] }
}

function sourceValue(cx: Cx, source: SamlMapping["source"], subject: AttributeSubject): string {
  if (source.kind === "text") return source.text
  if (source.kind === "field") return fieldOf(cx, source.field, subject)
  if (!canReadUser(cx, subject)) return ""
  return Buffer.from(listMetadata(cx, subject.userId).get(source.key) ?? "").toString()
}

function fieldOf(cx: Cx, field: SamlUserField, subject: AttributeSubject): string {
  const { user: info, userId } = subject
  switch (field) {
    case "userId":
      return userId
    case "userName":
      return info.userName
    case "loginName":
      return displayNames(cx, { user_name: info.userName, org: orgOfUser(cx, userId) })
        .preferredLoginName
    case "email":
      return info.emailVerified ? info.email : ""
    case "phone":
      return info.phoneVerified && canReadUser(cx, subject) ? info.phone : ""
    case "firstName":
      return info.givenName
    case "lastName":
      return info.familyName
    case "displayName":
      return info.name
    case "nickName":
      return canReadUser(cx, subject) ? info.nickName : ""
    case "preferredLanguage":
      return canReadUser(cx, subject) ? info.preferredLanguage : ""
    case "organizationId":
      return orgOfUser(cx, userId)
    case "organizationName":
      return cx.store.state(cx, org, orgOfUser(cx, userId)).name
  }
}

const orgOfUser = (cx: Cx, userId: string): string =>
  cx.store.receipt(cx, user, userId)?.owner ?? ""

/**
 * Whether the administrator who set the mappings can read the user. Otherwise an application could
 * reveal data of other organizations' users to its administrator.
 */
function canReadUser(cx: Cx, { state, userId }: AttributeSubject): boolean {
  const { attributesBy } = state.saml
  if (attributesBy === undefined) return false
  // Authors that were never users are operators of the server.
  if (cx.store.state(cx, user, attributesBy).status === "absent") return true
  if (!isActive(cx, attributesBy)) return false
  const read = { ...stateReader(cx), caller: cx.caller }
  const target = { level: "org", id: orgOfUser(cx, userId) } as const
  return permissionsOn(read, target, attributesBy).has("user.read")
}
