import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import type {
  OIDCAccessRule,
  OIDCTokenSettings,
  OIDCTokenSettingsSchema,
} from "../../../gen/core/application/v2/application_pb.ts"
import type {
  CreateOIDCApplicationRequest,
  UpdateOIDCApplicationConfigurationRequest,
} from "../../../gen/core/application/v2/application_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parseJwtType } from "../../key/index.ts"
import type { AccessRule } from "../forward-auth.ts"
import type { OidcConfig, TokenConfig } from "../model.ts"
import { allowedOrigins, complianceProblems, type OidcInput } from "../oidc.ts"
import { loginVersionOf, toLoginVersion } from "./v2-login.ts"

// The enum numbers of the API.
const responseTypes = { code: 1, id_token: 2, id_token_token: 3 } as const
const grantTypes = {
  authorization_code: 0,
  implicit: 1,
  refresh_token: 2,
  device_code: 3,
  token_exchange: 4,
} as const
const appTypes = { web: 0, user_agent: 1, native: 2 } as const
const authMethods = { basic: 0, post: 1, none: 2, private_key_jwt: 3 } as const
const remoteUsers = { login_name: 1, user_id: 2, email: 3 } as const
const listClaims = { unspecified: 0, off: 1, groups: 2, roles: 3 } as const
const pkceRules = { inherited: 0, required: 1, optional: 2 } as const
const tokenTypes = { bearer: 0, jwt: 1 } as const

/** The configuration of a new application; an empty list keeps the default. */
export const newOidc = (req: CreateOIDCApplicationRequest): OidcInput => ({
  ...listsOf(req),
  appType: enumName(appTypes, req.applicationType),
  authMethod: enumName(authMethods, req.authMethodType),
  tokenType: enumName(tokenTypes, req.accessTokenType),
  devMode: req.developmentMode,
  ...(req.privateNetworkHttp && { privateHttp: true }),
  clockSkewSeconds: secondsOf(req.clockSkew) ?? 0,
  accessTokenRoleAssertion: req.accessTokenRoleAssertion,
  idTokenRoleAssertion: req.idTokenRoleAssertion,
  idTokenUserinfoAssertion: req.idTokenUserinfoAssertion,
  idTokenProjectAudience: req.idTokenProjectAudience,
  idTokenClientId: req.idTokenClientId,
  genericRolesClaim: req.genericRolesClaim,
  plainOauth: req.plainOauth,
  skipNativeAppSuccessPage: req.skipNativeAppSuccessPage,
  backChannelLogoutUri: req.backChannelLogoutUri,
  loginVersion: loginVersionOf(req.loginVersion) ?? { version: "unspecified" },
  ...(req.backChannelLogoutPrivateNetwork && { isBackChannelPrivate: true }),
  ...(req.backEndLogoutAccepted && { backEndLogout: true }),
  ...(req.groupsClaim !== 0 && { groupsClaim: enumName(listClaims, req.groupsClaim) }),
  ...(req.pkce !== 0 && { pkce: enumName(pkceRules, req.pkce) }),
  ...extensionFieldsOf(req),
})

/**
 * The fields to update. The API can't distinguish an empty list from an absent one, so an empty
 * list changes nothing.
 */
export const oidcChange = (req: UpdateOIDCApplicationConfigurationRequest): OidcInput =>
  toOidcInput({
    ...listsOf(req),
    appType: optionalEnumName(appTypes, req.applicationType),
    authMethod: optionalEnumName(authMethods, req.authMethodType),
    tokenType: optionalEnumName(tokenTypes, req.accessTokenType),
    devMode: req.developmentMode,
    privateHttp: req.privateNetworkHttp,
    clockSkewSeconds: secondsOf(req.clockSkew),
    accessTokenRoleAssertion: req.accessTokenRoleAssertion,
    idTokenRoleAssertion: req.idTokenRoleAssertion,
    idTokenUserinfoAssertion: req.idTokenUserinfoAssertion,
    idTokenProjectAudience: req.idTokenProjectAudience,
    idTokenClientId: req.idTokenClientId,
    genericRolesClaim: req.genericRolesClaim,
    skipNativeAppSuccessPage: req.skipNativeAppSuccessPage,
    backChannelLogoutUri: req.backChannelLogoutUri,
    loginVersion: loginVersionOf(req.loginVersion),
    isBackChannelPrivate: req.backChannelLogoutPrivateNetwork,
    backEndLogout: req.backEndLogoutAccepted,
    groupsClaim: optionalEnumName(listClaims, req.groupsClaim),
    plainOauth: req.plainOauth,
    pkce: optionalEnumName(pkceRules, req.pkce),
    ...extensionFieldsOf(req),
  })

/** An OIDC configuration as a message of the API. */
export const toOidc = (clientId: string, config: OidcConfig, issuer: string) => ({
  redirectUris: [...config.redirectUris],
  postLogoutRedirectUris: [...config.postLogoutRedirectUris],
  responseTypes: config.responseTypes.map((type) => responseTypes[type]),
  grantTypes: config.grantTypes.map((type) => grantTypes[type]),
  applicationType: appTypes[config.appType],
  authMethodType: authMethods[config.authMethod],
  accessTokenType: tokenTypes[config.tokenType],
  clientId,
  ...compliance(config, issuer),
  developmentMode: config.devMode,
  privateNetworkHttp: config.privateHttp ?? false,
  accessTokenRoleAssertion: config.accessTokenRoleAssertion,
  idTokenRoleAssertion: config.idTokenRoleAssertion,
  idTokenUserinfoAssertion: config.idTokenUserinfoAssertion,
  idTokenProjectAudience: config.idTokenProjectAudience,
  idTokenClientId: config.idTokenClientId,
  genericRolesClaim: config.genericRolesClaim,
  clockSkew: durationFromMs(config.clockSkewSeconds * 1000),
  additionalOrigins: [...config.additionalOrigins],
  allowedOrigins: [...allowedOrigins(config)],
  skipNativeAppSuccessPage: config.skipNativeAppSuccessPage,
  backChannelLogoutUri: config.backChannelLogoutUri,
  backChannelLogoutPrivateNetwork: Boolean(config.backChannelPrivate),
  backEndLogoutAccepted: config.backEndLogout ?? false,
  plainOauth: config.plainOauth ?? false,
  loginVersion: toLoginVersion(config.loginVersion),
  groupsClaim: listClaims[config.groupsClaim ?? "unspecified"],
  pkce: pkceRules[config.pkce ?? "inherited"],
  ...(config.tokens && { tokenSettings: toTokens(config.tokens) }),
  ...(config.frontChannelLogout && { frontChannelLogout: { ...config.frontChannelLogout } }),
  ...(config.requestRules && {
    requestRules: {
      pushedRequired: config.requestRules.pushed,
      signedRequired: config.requestRules.signed,
      authMethodRequired: config.requestRules.authMethod ?? false,
    },
  }),
  ...((config.accessRules ?? config.remoteUser ?? config.accessTokenForwarded !== undefined) && {
    forwardAuth: {
      rules: (config.accessRules ?? []).map(toAccessRule),
      remoteUser: remoteUsers[config.remoteUser ?? "login_name"],
      tokenForwarded: config.accessTokenForwarded ?? false,
    },
  }),
})

/** Settings that Latchkey adds to the API. */
const extensionFieldsOf = (
  req: ExtensionFields,
): Pick<
  OidcConfig,
  | "tokens"
  | "frontChannelLogout"
  | "requestRules"
  | "accessRules"
  | "remoteUser"
  | "accessTokenForwarded"
> => ({
  ...(req.tokenSettings && { tokens: tokensOf(req.tokenSettings) }),
  ...(req.frontChannelLogout && {
    frontChannelLogout: {
      uri: req.frontChannelLogout.uri,
      sessionRequired: req.frontChannelLogout.sessionRequired,
    },
  }),
  ...(req.requestRules && {
    requestRules: {
      pushed: req.requestRules.pushedRequired,
      signed: req.requestRules.signedRequired,
      authMethod: req.requestRules.authMethodRequired,
    },
  }),
  ...(req.forwardAuth && { accessRules: req.forwardAuth.rules.map(accessRuleOf) }),
  ...(req.forwardAuth?.remoteUser && {
    remoteUser: enumName(remoteUsers, req.forwardAuth.remoteUser),
  }),
  ...(req.forwardAuth?.tokenForwarded !== undefined && {
    accessTokenForwarded: req.forwardAuth.tokenForwarded,
  }),
})

const accessRuleOf = (rule: OIDCAccessRule): AccessRule => ({
  prefix: rule.pathPrefix,
  everybody: rule.everybody,
  roles: uniqueValues(rule.roleKeys),
  ...(rule.accessTokens && { accessTokens: true }),
})

const toAccessRule = ({ prefix, everybody, roles, accessTokens = false }: AccessRule) => ({
  pathPrefix: prefix,
  everybody,
  roleKeys: [...roles],
  accessTokens,
})

type ExtensionFields = Pick<
  CreateOIDCApplicationRequest,
  "tokenSettings" | "frontChannelLogout" | "requestRules" | "forwardAuth"
>

const tokensOf = (message: OIDCTokenSettings): TokenConfig =>
  omitUndefined({
    accessTokenLifetime: secondsOf(message.accessTokenLifetime),
    idTokenLifetime: secondsOf(message.idTokenLifetime),
    refreshTokenIdleExpiration: secondsOf(message.refreshTokenIdleExpiration),
    refreshTokenExpiration: secondsOf(message.refreshTokenExpiration),
    refreshTokenGrace: secondsOf(message.refreshTokenGrace),
    idTokenAlgorithm: message.idTokenSigningAlgorithm,
    accessTokenAlgorithm: message.accessTokenSigningAlgorithm,
    accessTokenJwtType: message.accessTokenJwtType
      ? parseJwtType(message.accessTokenJwtType)
      : undefined,
  })

const toTokens = (tokens: TokenConfig): MessageInitShape<typeof OIDCTokenSettingsSchema> =>
  omitUndefined({
    accessTokenLifetime: durationOf(tokens.accessTokenLifetime),
    idTokenLifetime: durationOf(tokens.idTokenLifetime),
    refreshTokenIdleExpiration: durationOf(tokens.refreshTokenIdleExpiration),
    refreshTokenExpiration: durationOf(tokens.refreshTokenExpiration),
    refreshTokenGrace: durationOf(tokens.refreshTokenGrace),
    idTokenSigningAlgorithm: tokens.idTokenAlgorithm,
    accessTokenSigningAlgorithm: tokens.accessTokenAlgorithm,
    accessTokenJwtType: tokens.accessTokenJwtType,
  })

/** The compliance problems of a configuration, as messages of the API. */
export function compliance(config: OidcConfig, issuer: string) {
  const problems = complianceProblems(config, issuer)
  return {
    nonCompliant: problems.length > 0,
    complianceProblems: problems.map(({ key, message, blocksSignIn }) => ({
      key,
      localizedMessage: message,
      refusesSignIn: blocksSignIn,
    })),
  }
}

type ListFields = Pick<
  CreateOIDCApplicationRequest,
  "redirectUris" | "responseTypes" | "grantTypes" | "postLogoutRedirectUris" | "additionalOrigins"
>

const listsOf = (req: ListFields): Partial<OidcConfig> => ({
  ...(req.redirectUris.length > 0 && { redirectUris: uniqueValues(req.redirectUris) }),
  ...(req.postLogoutRedirectUris.length > 0 && {
    postLogoutRedirectUris: uniqueValues(req.postLogoutRedirectUris),
  }),
  ...(req.responseTypes.length > 0 && {
    responseTypes: uniqueValues(req.responseTypes.map((type) => enumName(responseTypes, type))),
  }),
  ...(req.grantTypes.length > 0 && {
    grantTypes: uniqueValues(req.grantTypes.map((type) => enumName(grantTypes, type))),
  }),
  ...(req.additionalOrigins.length > 0 && {
    additionalOrigins: uniqueValues(req.additionalOrigins),
  }),
})

const uniqueValues = <T>(list: readonly T[]): readonly T[] => [...new Set(list)]

/** The name of an enum value. Rejects numbers that the API does not define. */
function enumName<Numbers extends Readonly<Record<string, number>>>(
  numbers: Numbers,
  value: number,
): Extract<keyof Numbers, string> {
  for (const name in numbers) if (numbers[name] === value) return name
  throw new Fault(
    "invalid_argument",
    "request.enum_unknown",
    `${value} is not a value of this enum`,
  )
}

const optionalEnumName = <Numbers extends Readonly<Record<string, number>>>(
  numbers: Numbers,
  value: number | undefined,
) => (value === undefined ? undefined : enumName(numbers, value))

type OptionalOidcInput = { readonly [Field in keyof OidcInput]?: OidcInput[Field] | undefined }

/** Only the fields that are defined. */
const toOidcInput = (fields: OptionalOidcInput): OidcInput => omitUndefined(fields)

type DefinedFields<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

function omitUndefined<Fields extends object>(fields: Fields): DefinedFields<Fields> {
  const copy: DefinedFields<Fields> = {}
  for (const name in fields) {
    const value = fields[name]
    if (isDefined(value)) copy[name] = value
  }
  return copy
}

const isDefined = <T>(value: T): value is Exclude<T, undefined> => value !== undefined

const durationOf = (seconds: number | undefined): Duration | undefined =>
  seconds === undefined ? undefined : durationFromMs(seconds * 1000)

const secondsOf = (duration: Duration | undefined): number | undefined =>
  duration && durationMs(duration) / 1000
