import type { Attribute as Added } from "../../domain/action/index.ts"
import {
  type AttributeFormat,
  type AttributeNames,
  type SamlApp,
  type SamlMapping,
  type SamlUserField,
  usualAttributes,
} from "../../domain/app/index.ts"
import { rolesHeld } from "../../domain/authorization/index.ts"
import { isActive, permissionsOn, stateReader } from "../../domain/member/index.ts"
import { org } from "../../domain/org/index.ts"
import { heldMetadata } from "../../domain/user/index.ts"
import { shownNames, type UserInfo } from "../../domain/user-lookup/index.ts"
import { user } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"

/** What an assertion says of somebody; `friendlyName` is for people who read it. */
export type Attribute = Added & { readonly friendlyName?: string | undefined }

const formats: Readonly<Record<AttributeFormat, string>> = {
  basic: "urn:oasis:names:tc:SAML:2.0:attrname-format:basic",
  uri: "urn:oasis:names:tc:SAML:2.0:attrname-format:uri",
  unspecified: "urn:oasis:names:tc:SAML:2.0:attrname-format:unspecified",
}

const usualNames = ["Email", "SurName", "FirstName", "FullName", "UserName", "UserID"] as const
type UsualName = (typeof usualNames)[number]

/** RFC 4524, RFC 4519 and RFC 2798, as pysaml2, Shibboleth and SimpleSAMLphp map them. */
const oids: Readonly<Record<UsualName, readonly [name: string, friendlyName: string] | undefined>> =
  {
    Email: ["urn:oid:0.9.2342.19200300.100.1.3", "mail"],
    SurName: ["urn:oid:2.5.4.4", "sn"],
    FirstName: ["urn:oid:2.5.4.42", "givenName"],
    FullName: ["urn:oid:2.16.840.1.113730.3.1.241", "displayName"],
    UserName: ["urn:oid:0.9.2342.19200300.100.1.1", "uid"],
    // LDAP has none for it.
    UserID: undefined,
  }

const claims = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/"

/** As Microsoft Entra ID and AD FS name them. */
const microsoft: Readonly<Record<UsualName, string>> = {
  Email: `${claims}emailaddress`,
  SurName: `${claims}surname`,
  FirstName: `${claims}givenname`,
  FullName: "http://schemas.microsoft.com/identity/claims/displayname",
  UserName: `${claims}name`,
  UserID: "http://schemas.microsoft.com/identity/claims/objectidentifier",
}

export type Described = {
  readonly state: SamlApp
  readonly userId: string
  /** As the application may take it. */
  readonly user: UserInfo
}

/** The names that scripts and targets can't give, whether they have a value or not. */
export const takenNames = ({ saml }: Pick<SamlApp, "saml">): readonly string[] => {
  const { names, roles, mappings } = saml.attributes ?? usualAttributes
  const usual = usualNames.map((name) => namedAs(names, name).name)
  return [...usualNames, ...usual, roles, ...mappings.map(({ name }) => name)]
}

/** What the server itself says of a user to an application; nothing that is empty. */
export function attributesFor(cx: Cx, described: Described): readonly Attribute[] {
  const { state, userId } = described
  const { roles, mappings } = state.saml.attributes ?? usualAttributes
  const mapped = mappings.map((mapping) => mappedTo(cx, mapping, described))
  const keys =
    roles === "" ? [] : rolesHeld(cx, userId, state.projectId).flatMap((held) => held.keys)
  const names = new Set([roles, ...mappings.map(({ name }) => name)])
  return [
    // A mapping of the same name says it instead.
    ...usualFor(described).filter(({ name }) => !names.has(name)),
    { name: roles, format: formats.basic, values: [...new Set(keys)] },
    ...mapped,
  ].filter(({ values }) => values.length > 0)
}

/** An address that nobody has verified is not known to be theirs. */
function usualFor({ state, user: info, userId }: Described): readonly Attribute[] {
  const known: Readonly<Record<UsualName, string>> = {
    Email: info.emailVerified ? info.email : "",
    SurName: info.familyName,
    FirstName: info.givenName,
    FullName: info.name,
    UserName: info.userName,
    UserID: userId,
  }
  const { names } = state.saml.attributes ?? usualAttributes
  return usualNames.map((name) => ({
    ...namedAs(names, name),
    values: known[name] === "" ? [] : [known[name]],
  }))
}

/** How one of the usual attributes is written. */
function namedAs(names: AttributeNames, name: UsualName): Omit<Attribute, "values"> {
  if (names === "microsoft") return { name: microsoft[name], format: formats.unspecified }
  const [oid, friendlyName] = (names === "oid" && oids[name]) || []
  return oid === undefined
    ? { name, format: formats.basic }
    : { name: oid, format: formats.uri, friendlyName }
}

function mappedTo(cx: Cx, { name, format, source }: SamlMapping, described: Described): Attribute {
  const value = sourceValue(cx, source, described)
  return { name, format: formats[format], values: value === "" ? [] : [value] }
}

function sourceValue(cx: Cx, source: SamlMapping["source"], described: Described): string {
  if (source.kind === "text") return source.text
  if (source.kind === "field") return fieldOf(cx, source.field, described)
  if (!mayTell(cx, described)) return ""
  return Buffer.from(heldMetadata(cx, described.userId).get(source.key) ?? "").toString()
}

function fieldOf(cx: Cx, field: SamlUserField, described: Described): string {
  const { user: info, userId } = described
  switch (field) {
    case "userId":
      return userId
    case "userName":
      return info.userName
    case "loginName":
      return shownNames(cx, { user_name: info.userName, org: homeOf(cx, userId) })
        .preferredLoginName
    case "email":
      return info.emailVerified ? info.email : ""
    case "phone":
      return info.phoneVerified && mayTell(cx, described) ? info.phone : ""
    case "firstName":
      return info.givenName
    case "lastName":
      return info.familyName
    case "displayName":
      return info.name
    case "nickName":
      return mayTell(cx, described) ? info.nickName : ""
    case "preferredLanguage":
      return mayTell(cx, described) ? info.preferredLanguage : ""
    case "organizationId":
      return homeOf(cx, userId)
    case "organizationName":
      return cx.store.state(cx, org, homeOf(cx, userId)).name
  }
}

const homeOf = (cx: Cx, userId: string): string => cx.store.receipt(cx, user, userId)?.owner ?? ""

/**
 * Whether the administrator who set the mappings may read the user: else an application would read
 * for its administrator what users of other organizations keep from them.
 */
function mayTell(cx: Cx, { state, userId }: Described): boolean {
  const { attributesBy } = state.saml
  if (attributesBy === undefined) return false
  // Whoever never was a user runs the server.
  if (cx.store.state(cx, user, attributesBy).status === "absent") return true
  if (!isActive(cx, attributesBy)) return false
  const read = { ...stateReader(cx), caller: cx.caller }
  const target = { level: "org", id: homeOf(cx, userId) } as const
  return permissionsOn(read, target, attributesBy).has("user.read")
}
