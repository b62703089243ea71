import {
  type AppType,
  type AuthMethod,
  type ClientMetadata,
  type GrantType,
  isScopeToken,
  type OidcConfig,
  oidcDefaults,
  type ResponseType,
  type TokenConfig,
} from "../../domain/app/index.ts"
import { signingAlgorithms } from "../../domain/key/index.ts"
import { parseDisplayName } from "../../kernel/text/identifier.ts"
import { hasInvisible } from "../../kernel/text/name.ts"
import { assessRedirectUri, isOnDevice } from "../../protocol/redirect-uri.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { issuerOf } from "../issuer.ts"
import { splitWords } from "../parameters.ts"
import { findFlag, findString, findStrings, type Members, metadataError } from "./json-member.ts"
import { parseJwks } from "./jwks.ts"

/**
 * Parses client metadata (RFC 7591 §2, OpenID Connect Dynamic Client Registration §2). Unknown
 * members are ignored (§2); unsupported grant and response types are dropped, and the response
 * contains the accepted ones (§3.2.1). `before` is the configuration before an update: settings
 * that only administrators can change keep their values.
 */
export function parseMetadata(cx: Cx, members: Members, before?: OidcConfig): ClientMetadata {
  rejectUnsupported(members)
  const redirectUris = findStrings(members, "redirect_uris") ?? []
  const { grantTypes, responseTypes } = parseFlows(members)
  const appType = parseAppType(members, redirectUris)
  const needsUri = grantTypes.some((type) => type === "authorization_code" || type === "implicit")
  if (needsUri && redirectUris.length === 0) throw metadataError("redirect_uris", "is required")
  for (const uri of redirectUris) validateRedirectUri(cx, uri, { appType, grantTypes })
  const authMethod = parseAuthMethod(members)
  const jwks = parseJwks(members)
  if (authMethod === "private_key_jwt" && jwks.length === 0) {
    throw metadataError("jwks", "must contain the keys for private_key_jwt")
  }
  const oidc = {
    redirectUris,
    grantTypes,
    responseTypes,
    appType,
    authMethod,
    // Resource servers can verify a JWT without introspection.
    tokenType: before?.tokenType ?? "jwt",
    // Most clients read name and email from the ID token.
    idTokenUserinfoAssertion: before?.idTokenUserinfoAssertion ?? true,
    ...parseLogoutUris(cx, members, appType),
    tokens: parseTokenConfig(cx, members, before),
    requestRules: {
      ...before?.requestRules,
      pushed: findFlag(members, "require_pushed_authorization_requests"),
      signed: findFlag(members, "require_signed_request_object"),
    },
  } as const
  return { name: parseName(members, redirectUris), oidc, jwks, scope: parseScope(members) }
}

const scopeMax = 2000

/**
 * RFC 7591 §2: the scopes that a client may request, which the response repeats because clients
 * store them. They limit nothing, since a client can register again, and users decide what it
 * receives. Invalid scopes are ignored.
 */
function parseScope({ scope }: Members): string {
  const words = splitWords(typeof scope === "string" ? scope : undefined).filter(isScopeToken)
  const text = words.join(" ")
  return text.length > scopeMax ? "" : text
}

/**
 * Rejects members that would have a different effect than the sender expects if they were ignored.
 */
function rejectUnsupported(members: Members): void {
  if (members.software_statement !== undefined) {
    const requestedValue = "software_statement is not supported; omit it"
    throw new OAuthError("unapproved_software_statement", requestedValue)
  }
  if (members.jwks_uri !== undefined)
    throw metadataError("jwks_uri", "is not supported; send jwks instead")
  if ((findString(members, "subject_type") ?? "public") !== "public") {
    throw metadataError("subject_type", "must be public")
  }
  if (members.sector_identifier_uri !== undefined) {
    throw metadataError("sector_identifier_uri", "is not supported, because subjects are public")
  }
}

/** OpenID Connect Registration §2; names with invisible or deceptive characters are rejected. */
function parseName(members: Members, redirectUris: readonly string[]): string {
  const name = findString(members, "client_name") ?? new URL(redirectUris[0] ?? "app:").hostname
  if (hasInvisible(name)) {
    throw metadataError("client_name", "must not have invisible characters")
  }
  return parseDisplayName("client_name", name === "" ? "Application" : name)
}

const appTypes: Readonly<Record<string, AppType>> = { web: "web", native: "native" }

/**
 * OpenID Connect Registration §2. RFC 7591 does not define it, and native clients often omit it, so
 * it is derived from the redirect URIs.
 */
function parseAppType(members: Members, redirectUris: readonly string[]): AppType {
  const requestedValue = findString(members, "application_type")
  if (requestedValue === undefined)
    return redirectUris.some((uri) => URL.canParse(uri) && isOnDevice(uri)) ? "native" : "web"
  return requireKnownValue("application_type", appTypes, requestedValue)
}

const authMethods: Readonly<Record<string, AuthMethod>> = {
  client_secret_basic: "basic",
  client_secret_post: "post",
  none: "none",
  private_key_jwt: "private_key_jwt",
}

const parseAuthMethod = (members: Members): AuthMethod =>
  requireKnownValue(
    "token_endpoint_auth_method",
    authMethods,
    findString(members, "token_endpoint_auth_method") ?? "client_secret_basic",
  )

/** Grant types for registration. Token exchange must be enabled by an administrator. */
const grantTypes: Readonly<Record<string, GrantType>> = {
  authorization_code: "authorization_code",
  implicit: "implicit",
  refresh_token: "refresh_token",
  "urn:ietf:params:oauth:grant-type:device_code": "device_code",
}

const responseTypes: Readonly<Record<string, ResponseType>> = {
  code: "code",
  id_token: "id_token",
  "id_token token": "id_token_token",
}

type Flows = Pick<OidcConfig, "grantTypes" | "responseTypes">

/** RFC 7591 §2.1: grant types and response types must be consistent; each of them is optional. */
function parseFlows(members: Members): Flows {
  const types = findStrings(members, "response_types")?.map((type) =>
    type.split(" ").sort().join(" "),
  )
  const responses = types && supportedValues("response_types", responseTypes, types)
  const grants = findStrings(members, "grant_types")
  if (!grants) {
    const needed = new Set((responses ?? ["code"]).map(grantOf))
    return { grantTypes: [...needed], responseTypes: responses ?? ["code"] }
  }
  const granted = supportedValues("grant_types", grantTypes, grants)
  const possible = Object.values(responseTypes).filter((type) => granted.includes(grantOf(type)))
  const unsupported = responses?.find((type) => !possible.includes(type))
  if (unsupported !== undefined) {
    throw metadataError("response_types", `require the grant type ${grantOf(unsupported)}`)
  }
  return { grantTypes: granted, responseTypes: responses ?? possible }
}

const grantOf = (type: ResponseType): GrantType =>
  type === "code" ? "authorization_code" : "implicit"

/** The supported values; rejects a list without any. */
function supportedValues<T>(
  name: string,
  table: Readonly<Record<string, T>>,
  requested: readonly string[],
): readonly T[] {
  const found = requested.flatMap((each) => (Object.hasOwn(table, each) ? [table[each]] : []))
  const some = found.filter((each) => each !== undefined)
  if (some.length > 0 || requested.length === 0) return some
  throw metadataError(name, `must contain at least one of: ${Object.keys(table).join(", ")}`)
}

type RedirectContext = Pick<OidcConfig, "appType" | "grantTypes">

function validateRedirectUri(cx: Cx, uri: string, { appType, grantTypes }: RedirectContext): void {
  const name = "redirect_uris"
  validateUri(cx, { name, uri, appType })
  // OpenID Connect Registration §2, application_type: the implicit flow requires https.
  const isRead = appType === "web" && grantTypes.includes("implicit") && !/^https:/i.test(uri)
  if (isRead) throw metadataError(name, secureUriRequirement)
}

type UriToValidate = { readonly name: string; readonly uri: string; readonly appType: AppType }

/**
 * No administrator reviews a registration, so everything that specifications advise against is
 * rejected.
 */
function validateUri(cx: Cx, { name, uri, appType }: UriToValidate): void {
  const judgement = assessRedirectUri(uri, { appType, devMode: false }, issuerOf(cx).issuer)
  const { verdict } = judgement
  if (verdict === "invalid") {
    const requirement =
      "must be absolute ASCII URIs without a fragment and without a scheme that browsers execute"
    throw metadataError(name, requirement)
  }
  if (isDeceptive(uri)) throw metadataError(name, "must not have a user name or a backslash")
  if (verdict !== "fine" && judgement.reason !== "http_loopback")
    throw metadataError(name, secureUriRequirement)
}

/** RFC 3986 §7.6: text before `@` looks like a host; browsers treat a backslash as a slash. */
function isDeceptive(uri: string): boolean {
  const { username, password } = new URL(uri)
  return username !== "" || password !== "" || /\\|^[^/?#]*\/\/[^/?#]*@/.test(uri)
}

const secureUriRequirement = "must begin with https://, or be a loopback or native application URI"

/** RP-Initiated, Back-Channel and Front-Channel Logout, each §2; absent means none. */
function parseLogoutUris(cx: Cx, members: Members, appType: AppType) {
  const postLogoutRedirectUris = findStrings(members, "post_logout_redirect_uris") ?? []
  const name = "post_logout_redirect_uris"
  for (const uri of postLogoutRedirectUris) validateUri(cx, { name, uri, appType })
  const backChannelLogoutUri = findString(members, "backchannel_logout_uri") ?? ""
  // Back-Channel Logout §2.2: the notification reveals who signed out.
  if (backChannelLogoutUri !== "" && !/^https:/i.test(backChannelLogoutUri)) {
    throw metadataError("backchannel_logout_uri", "must begin with https://")
  }
  const uri = findString(members, "frontchannel_logout_uri") ?? ""
  const sessionRequired = findFlag(members, "frontchannel_logout_session_required")
  return {
    postLogoutRedirectUris,
    backChannelLogoutUri,
    frontChannelLogout: { uri, sessionRequired },
  }
}

/**
 * OpenID Connect Registration §2, id_token_signed_response_alg; if absent, the setting of the
 * instance.
 */
function parseTokenConfig(cx: Cx, members: Members, before: OidcConfig | undefined): TokenConfig {
  const { idTokenAlgorithm: _, ...kept } = before?.tokens ?? {}
  const algorithm = findString(members, "id_token_signed_response_alg")
  if (algorithm === undefined) return kept
  const signing: readonly string[] = signingAlgorithms(cx)
  if (signing.includes(algorithm)) return { ...kept, idTokenAlgorithm: algorithm }
  throw metadataError("id_token_signed_response_alg", `must be one of: ${signing.join(", ")}`)
}

function requireKnownValue<T>(
  name: string,
  table: Readonly<Record<string, T>>,
  requestedValue: string,
): T {
  const found = Object.hasOwn(table, requestedValue) ? table[requestedValue] : undefined
  if (found !== undefined) return found
  throw metadataError(name, `must be one of: ${Object.keys(table).join(", ")}`)
}

const toWireNames = <T extends string>(table: Readonly<Record<string, T>>, values: readonly T[]) =>
  Object.entries(table).flatMap(([name, value]) => (values.includes(value) ? [name] : []))

/** The registered metadata in the form of RFC 7591 §3.2.1. */
export function formatMetadata({ name, oidc, jwks, scope = "" }: ClientMetadata): object {
  const config = { ...oidcDefaults, ...oidc }
  const { frontChannelLogout: front, requestRules: rules, tokens } = config
  return {
    client_name: name,
    redirect_uris: config.redirectUris,
    token_endpoint_auth_method: toWireNames(authMethods, [config.authMethod])[0],
    grant_types: toWireNames(grantTypes, config.grantTypes),
    response_types: toWireNames(responseTypes, config.responseTypes),
    application_type: config.appType === "native" ? "native" : "web",
    subject_type: "public",
    post_logout_redirect_uris: config.postLogoutRedirectUris,
    ...(config.backChannelLogoutUri !== "" && {
      backchannel_logout_uri: config.backChannelLogoutUri,
      backchannel_logout_session_required: true,
    }),
    ...(front?.uri && {
      frontchannel_logout_uri: front.uri,
      frontchannel_logout_session_required: front.sessionRequired,
    }),
    ...(tokens?.idTokenAlgorithm && { id_token_signed_response_alg: tokens.idTokenAlgorithm }),
    ...(rules?.pushed && { require_pushed_authorization_requests: true }),
    ...(rules?.signed && { require_signed_request_object: true }),
    ...(jwks.length > 0 && { jwks: { keys: jwks } }),
    ...(scope !== "" && { scope }),
  }
}
