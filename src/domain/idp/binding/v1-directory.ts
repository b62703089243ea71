import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import type { AddLDAPProviderRequest } from "../../../gen/core/admin/v1/idp_pb.ts"
import type { LDAPAttributes } from "../../../gen/core/idp/v1/idp_pb.ts"
import type { DirectoryAttributes, Settings } from "../model.ts"

type Fields<M> = Omit<M, "$typeName" | "$unknown">
type Directory = Extract<Settings, { kind: "ldap" }>

/** Timeout of a server if the request has none. */
const defaultTimeoutMs = 5000

/** Reads directory settings from a request, without the password. */
export function directoryFrom(req: Fields<AddLDAPProviderRequest>): Directory {
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
    timeoutMs: req.timeout ? durationMs(req.timeout) : defaultTimeoutMs,
    attributes: attributesFrom(req.attributes),
  }
}

const attributesFrom = (message: Fields<LDAPAttributes> | undefined): DirectoryAttributes => ({
  id: message?.idAttribute ?? "",
  givenName: message?.firstNameAttribute ?? "",
  familyName: message?.lastNameAttribute ?? "",
  displayName: message?.displayNameAttribute ?? "",
  nickName: message?.nickNameAttribute ?? "",
  userName: message?.preferredUsernameAttribute ?? "",
  email: message?.emailAttribute ?? "",
  emailVerified: message?.emailVerifiedAttribute ?? "",
  phone: message?.phoneAttribute ?? "",
  phoneVerified: message?.phoneVerifiedAttribute ?? "",
  preferredLanguage: message?.preferredLanguageAttribute ?? "",
  avatarUrl: message?.avatarUrlAttribute ?? "",
  profile: message?.profileAttribute ?? "",
})

/** A directory in the format of both versions, without the password. */
export const toDirectoryMessage = ({ timeoutMs, rootCa, attributes, ...rest }: Directory) => ({
  ...rest,
  servers: [...rest.servers],
  userObjectClasses: [...rest.userObjectClasses],
  userFilters: [...rest.userFilters],
  timeout: durationFromMs(timeoutMs),
  rootCa: new TextEncoder().encode(rootCa),
  attributes: toAttributesMessage(attributes),
})

const toAttributesMessage = (attributes: DirectoryAttributes) => ({
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
