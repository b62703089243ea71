import {
  OIDCApplicationType,
  OIDCAuthMethodType,
  type OIDCConfiguration,
  OIDCGrantType,
  OIDCPKCERequirement,
  OIDCResponseType,
  OIDCTokenType,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { GroupsClaim } from "../../../src/gen/core/project/v2/project_pb.ts"
import type { Redirecting } from "../../../src/protocol/redirect-uri.ts"
import { namesIn } from "../form/index.ts"

/** The names of the catalogue for what the protocol numbers. */
export const grantTypes = {
  authorization_code: OIDCGrantType.OIDC_GRANT_TYPE_AUTHORIZATION_CODE,
  refresh_token: OIDCGrantType.OIDC_GRANT_TYPE_REFRESH_TOKEN,
  device_code: OIDCGrantType.OIDC_GRANT_TYPE_DEVICE_CODE,
  token_exchange: OIDCGrantType.OIDC_GRANT_TYPE_TOKEN_EXCHANGE,
  implicit: OIDCGrantType.OIDC_GRANT_TYPE_IMPLICIT,
} as const

export const responseTypes = {
  code: OIDCResponseType.OIDC_RESPONSE_TYPE_CODE,
  id_token_token: OIDCResponseType.OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN,
  id_token: OIDCResponseType.OIDC_RESPONSE_TYPE_ID_TOKEN,
} as const

export const authMethods = {
  basic: OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_BASIC,
  post: OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_POST,
  private_key_jwt: OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT,
  none: OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_NONE,
} as const

export const pkceRules = {
  inherited: OIDCPKCERequirement.OIDC_PKCE_REQUIREMENT_UNSPECIFIED,
  required: OIDCPKCERequirement.OIDC_PKCE_REQUIREMENT_REQUIRED,
  optional: OIDCPKCERequirement.OIDC_PKCE_REQUIREMENT_OPTIONAL,
} as const

/** The flat list of roles that an application gets without requesting it. */
export const groupsClaims = {
  inherited: GroupsClaim.UNSPECIFIED,
  off: GroupsClaim.OFF,
  groups: GroupsClaim.GROUPS,
  roles: GroupsClaim.ROLES,
} as const

export const tokenTypes = {
  opaque: OIDCTokenType.OIDC_TOKEN_TYPE_BEARER,
  jwt: OIDCTokenType.OIDC_TOKEN_TYPE_JWT,
} as const

/** The name by which redirect URIs are judged. */
export function appTypeOf({ applicationType }: OIDCConfiguration): Redirecting["appType"] {
  if (applicationType === OIDCApplicationType.OIDC_APP_TYPE_NATIVE) return "native"
  return applicationType === OIDCApplicationType.OIDC_APP_TYPE_USER_AGENT ? "user_agent" : "web"
}

export type GrantName = keyof typeof grantTypes
export type ResponseName = keyof typeof responseTypes
export type AuthName = keyof typeof authMethods
export type TokenName = keyof typeof tokenTypes
export type PkceName = keyof typeof pkceRules
export type GroupsName = keyof typeof groupsClaims

export const grantNames = namesIn(grantTypes)
export const responseNames = namesIn(responseTypes)
export const authNames = namesIn(authMethods)
export const tokenNames = namesIn(tokenTypes)
export const pkceNames = namesIn(pkceRules)
export const groupsNames = namesIn(groupsClaims)

export const grantsOf = (oidc: OIDCConfiguration) =>
  grantNames.filter((name) => oidc.grantTypes.includes(grantTypes[name]))

export const responsesOf = (oidc: OIDCConfiguration) =>
  responseNames.filter((name) => oidc.responseTypes.includes(responseTypes[name]))

export const authOf = (oidc: OIDCConfiguration): AuthName =>
  authNames.find((name) => authMethods[name] === oidc.authMethodType) ?? "basic"

/** A client with neither a secret nor a key must use PKCE in any case. */
export const pkceOf = (oidc: OIDCConfiguration): PkceName =>
  pkceNames.find((name) => pkceRules[name] === oidc.pkce) ?? "inherited"

export const groupsOf = (oidc: OIDCConfiguration): GroupsName =>
  groupsNames.find((name) => groupsClaims[name] === oidc.groupsClaim) ?? "inherited"

/** What most applications request, with the list of roles that this one needs. */
export function scopeOf(oidc: OIDCConfiguration): string {
  const list = groupsOf(oidc)
  const usual = "openid profile email"
  return list === "off" || list === "inherited" ? usual : `${usual} ${list}`
}

/** How requests must come, by the names of the interface. */
export const ruleNames = ["authMethodRequired", "pushedRequired", "signedRequired"] as const
export type RuleName = (typeof ruleNames)[number]

export const rulesOf = ({ requestRules }: OIDCConfiguration): readonly RuleName[] =>
  ruleNames.filter((name) => requestRules?.[name])

export const tokenOf = (oidc: OIDCConfiguration): TokenName =>
  tokenNames.find((name) => tokenTypes[name] === oidc.accessTokenType) ?? "opaque"

/**
 * The response types that go with grants: the implicit ones only with the implicit grant, and the
 * code alone where nobody has chosen.
 */
export function responsesFor(
  grants: readonly GrantName[],
  chosen: readonly ResponseName[],
): readonly ResponseName[] {
  const fitting = chosen.filter((name) =>
    name === "code" ? grants.includes("authorization_code") : grants.includes("implicit"),
  )
  if (fitting.length > 0) return fitting
  return grants.includes("implicit") && !grants.includes("authorization_code")
    ? ["id_token_token"]
    : ["code"]
}
