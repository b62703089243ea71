import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import type { AddLDAPProviderRequest } from "../../../gen/core/admin/v1/idp_pb.ts"
import type { LDAPAttributes } from "../../../gen/core/idp/v1/idp_pb.ts"
import type { DirectoryAttributes, Settings } from "../model.ts"

type Fields<M> = Omit<M, "$typeName" | "$unknown">
type Directory = Extract<Settings, { kind: "ldap" }>

/** How long a server may take where nobody says it. */
const standardTimeoutMs = 5000

/** What a request says of a directory, but for the password. */
export function directoryOf(req: Fields<AddLDAPProviderRequest>): Directory {
  const { startTls, baseDn, bindDn, userBase } = req
  return {
    kind: "ldap",
    startTls,
    baseDn,
    bindDn,
    userBase,
    servers: [...req.servers],
    rootCa: new TextDecoder().decode(req.rootCa),
    userObjectClasses: [...req.userObjectClasses],
    userFilters: [...req.userFilters],
    timeoutMs: req.timeout ? durationMs(req.timeout) : standardTimeoutMs,
    attributes: attributesOf(req.attributes),
  }
}

const attributesOf = (given: Fields<LDAPAttributes> | undefined): DirectoryAttributes => ({
  id: given?.idAttribute ?? "",
  givenName: given?.firstNameAttribute ?? "",
  familyName: given?.lastNameAttribute ?? "",
  displayName: given?.displayNameAttribute ?? "",
  nickName: given?.nickNameAttribute ?? "",
  userName: given?.preferredUsernameAttribute ?? "",
  email: given?.emailAttribute ?? "",
  emailVerified: given?.emailVerifiedAttribute ?? "",
  phone: given?.phoneAttribute ?? "",
  phoneVerified: given?.phoneVerifiedAttribute ?? "",
  preferredLanguage: given?.preferredLanguageAttribute ?? "",
  avatarUrl: given?.avatarUrlAttribute ?? "",
  profile: given?.profileAttribute ?? "",
})

/** A directory as both versions show it; never its password. */
export const shownDirectory = ({ timeoutMs, rootCa, attributes, ...rest }: Directory) => ({
  ...rest,
  servers: [...rest.servers],
  userObjectClasses: [...rest.userObjectClasses],
  userFilters: [...rest.userFilters],
  timeout: durationFromMs(timeoutMs),
  rootCa: new TextEncoder().encode(rootCa),
  attributes: shownAttributes(attributes),
})

const shownAttributes = (attributes: DirectoryAttributes) => ({
  idAttribute: attributes.id,
  firstNameAttribute: attributes.givenName,
  lastNameAttribute: attributes.familyName,
  displayNameAttribute: attributes.displayName,
  nickNameAttribute: attributes.nickName,
  preferredUsernameAttribute: attributes.userName,
  emailAttribute: attributes.email,
  emailVerifiedAttribute: attributes.emailVerified,
  phoneAttribute: attributes.phone,
  phoneVerifiedAttribute: attributes.phoneVerified,
  preferredLanguageAttribute: attributes.preferredLanguage,
  avatarUrlAttribute: attributes.avatarUrl,
  profileAttribute: attributes.profile,
})
