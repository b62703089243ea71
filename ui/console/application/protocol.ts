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
import type { RedirectSettings } from "../../../src/protocol/redirect-uri.ts"
import { namesIn } from "../form/index.ts"

/** Catalog names for enum values of the protocol. */
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

/** The flat list of roles in an application's tokens that it doesn't have to request. */
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

/** The application type that redirect URIs are validated for. */
export function appTypeOf({ applicationType }: OIDCConfiguration): RedirectSettings["appType"] {
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

/** Clients without a secret or key must use PKCE anyway. */
export const pkceOf = (oidc: OIDCConfiguration): PkceName =>
  pkceNames.find((name) => pkceRules[name] === oidc.pkce) ?? "inherited"

export const groupsOf = (oidc: OIDCConfiguration): GroupsName =>
  groupsNames.find((name) => groupsClaims[name] === oidc.groupsClaim) ?? "inherited"

/** Scopes of a typical request, with the list of roles that the application needs. */
export function scopeOf(oidc: OIDCConfiguration): string {
  const list = groupsOf(oidc)
  const usual = "openid profile email"
  return list === "off" || list === "inherited" ? usual : `${usual} ${list}`
}

/** Request requirements, by API field name. */
export const ruleNames = ["authMethodRequired", "pushedRequired", "signedRequired"] as const
export type RuleName = (typeof ruleNames)[number]

export const rulesOf = ({ requestRules }: OIDCConfiguration): readonly RuleName[] =>
  ruleNames.filter((name) => requestRules?.[name])

export const tokenOf = (oidc: OIDCConfiguration): TokenName =>
  tokenNames.find((name) => tokenTypes[name] === oidc.accessTokenType) ?? "opaque"

/**
 * The response types for grants: implicit ones only with the implicit grant, and only the code if
 * none is chosen.
 */
export function selectResponseTypes(
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
