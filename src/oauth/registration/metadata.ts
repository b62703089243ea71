import {
  type AppType,
  type AuthMethod,
  type ClientMetadata,
  type GrantType,
  isScope,
  type OidcConfig,
  oidcDefaults,
  type ResponseType,
  type TokenConfig,
} from "../../domain/app/index.ts"
import { signingAlgorithms } from "../../domain/key/index.ts"
import { givenName } from "../../kernel/text/given.ts"
import { hasUnseen } from "../../kernel/text/name.ts"
import { isOnDevice, judge } from "../../protocol/redirect-uri.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { issuerOf } from "../issuer.ts"
import { wordsOf } from "../request.ts"
import { jwksIn } from "./jwks.ts"
import { flagIn, type Members, metadataError, textIn, textsIn } from "./member.ts"

/**
 * Reads client metadata (RFC 7591 §2, OpenID Connect Dynamic Client Registration §2). What we don't
 * know is passed over (§2); of grants and response types those stay that we offer, and the answer
 * says which (§3.2.1). `before` is what a change begins with: what only an administrator says of an
 * application stays as it is.
 */
export function metadataOf(cx: Cx, members: Members, before?: OidcConfig): ClientMetadata {
  refuseUnsupported(members)
  const redirectUris = textsIn(members, "redirect_uris") ?? []
  const { grantTypes, responseTypes } = flowsIn(members)
  const appType = appTypeIn(members, redirectUris)
  const needsUri = grantTypes.some((type) => type === "authorization_code" || type === "implicit")
  if (needsUri && redirectUris.length === 0) throw metadataError("redirect_uris", "is missing")
  for (const uri of redirectUris) checkRedirect(cx, uri, { appType, grantTypes })
  const authMethod = authMethodIn(members)
  const jwks = jwksIn(members)
  if (authMethod === "private_key_jwt" && jwks.length === 0) {
    throw metadataError("jwks", "must hold the keys that private_key_jwt is checked with")
  }
  const oidc = {
    redirectUris,
    grantTypes,
    responseTypes,
    appType,
    authMethod,
    // A resource server elsewhere reads these without asking us.
    tokenType: before?.tokenType ?? "jwt",
    // Most clients read name and email from the ID token.
    idTokenUserinfoAssertion: before?.idTokenUserinfoAssertion ?? true,
    ...logoutsIn(cx, members, appType),
    tokens: tokensIn(cx, members, before),
    requestRules: {
      ...before?.requestRules,
      pushed: flagIn(members, "require_pushed_authorization_requests"),
      signed: flagIn(members, "require_signed_request_object"),
    },
  } as const
  return { name: nameIn(members, redirectUris), oidc, jwks, scope: scopeIn(members) }
}

const scopeMax = 2000

/**
 * RFC 7591 §2: the scopes that a client says it requests. Clients remember what the answer repeats.
 * It limits nothing, since a client can register anew, and users decide what it gets. What is no
 * scope is passed over.
 */
function scopeIn({ scope }: Members): string {
  const words = wordsOf(typeof scope === "string" ? scope : undefined).filter(isScope)
  const text = words.join(" ")
  return text.length > scopeMax ? "" : text
}

/** What would mean something else than its sender thinks if it were passed over. */
function refuseUnsupported(members: Members): void {
  if (members.software_statement !== undefined) {
    const said = "software_statement is not taken from anybody; leave it out"
    throw new OAuthError("unapproved_software_statement", said)
  }
  if (members.jwks_uri !== undefined) throw metadataError("jwks_uri", "is not fetched; send jwks")
  if ((textIn(members, "subject_type") ?? "public") !== "public") {
    throw metadataError("subject_type", "must be public")
  }
  if (members.sector_identifier_uri !== undefined) {
    throw metadataError("sector_identifier_uri", "means nothing here: subjects are public")
  }
}

/** OpenID Connect Registration §2; a name that shows as another one, or as none, is refused. */
function nameIn(members: Members, redirectUris: readonly string[]): string {
  const name = textIn(members, "client_name") ?? new URL(redirectUris[0] ?? "app:").hostname
  if (hasUnseen(name)) {
    throw metadataError("client_name", "must not have characters that nobody sees")
  }
  return givenName("client_name", name === "" ? "Application" : name)
}

const appTypes: Readonly<Record<string, AppType>> = { web: "web", native: "native" }

/**
 * OpenID Connect Registration §2. RFC 7591 doesn't know it, and clients on people's machines leave
 * it out: where they are sent back to says what they are.
 */
function appTypeIn(members: Members, redirectUris: readonly string[]): AppType {
  const said = textIn(members, "application_type")
  if (said === undefined)
    return redirectUris.some((uri) => URL.canParse(uri) && isOnDevice(uri)) ? "native" : "web"
  return known("application_type", appTypes, said)
}

const authMethods: Readonly<Record<string, AuthMethod>> = {
  client_secret_basic: "basic",
  client_secret_post: "post",
  none: "none",
  private_key_jwt: "private_key_jwt",
}

const authMethodIn = (members: Members): AuthMethod =>
  known(
    "token_endpoint_auth_method",
    authMethods,
    textIn(members, "token_endpoint_auth_method") ?? "client_secret_basic",
  )

/** What may be registered here. Who exchanges tokens of others is entered by an administrator. */
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

/** RFC 7591 §2.1: grants and response types belong together; either may be left out. */
function flowsIn(members: Members): Flows {
  const types = textsIn(members, "response_types")?.map((type) => type.split(" ").sort().join(" "))
  const responses = types && offered("response_types", responseTypes, types)
  const grants = textsIn(members, "grant_types")
  if (!grants) {
    const needed = new Set((responses ?? ["code"]).map(grantOf))
    return { grantTypes: [...needed], responseTypes: responses ?? ["code"] }
  }
  const granted = offered("grant_types", grantTypes, grants)
  const possible = Object.values(responseTypes).filter((type) => granted.includes(grantOf(type)))
  const odd = responses?.find((type) => !possible.includes(type))
  if (odd !== undefined) {
    throw metadataError("response_types", `need the grant type ${grantOf(odd)}`)
  }
  return { grantTypes: granted, responseTypes: responses ?? possible }
}

const grantOf = (type: ResponseType): GrantType =>
  type === "code" ? "authorization_code" : "implicit"

/** Of what is asked for that which is offered; none of it is refused. */
function offered<T>(
  name: string,
  table: Readonly<Record<string, T>>,
  asked: readonly string[],
): readonly T[] {
  const found = asked.flatMap((each) => (Object.hasOwn(table, each) ? [table[each]] : []))
  const some = found.filter((each) => each !== undefined)
  if (some.length > 0 || asked.length === 0) return some
  throw metadataError(name, `must have one of: ${Object.keys(table).join(", ")}`)
}

type Redirected = Pick<OidcConfig, "appType" | "grantTypes">

function checkRedirect(cx: Cx, uri: string, { appType, grantTypes }: Redirected): void {
  const name = "redirect_uris"
  checkAddress(cx, { name, uri, appType })
  // OpenID Connect Registration §2, application_type: with the implicit flow by https alone.
  const isRead = appType === "web" && grantTypes.includes("implicit") && !/^https:/i.test(uri)
  if (isRead) throw metadataError(name, insecure)
}

type Address = { readonly name: string; readonly uri: string; readonly appType: AppType }

/** Nobody looks at what a stranger registers, so whatever is advised against is refused. */
function checkAddress(cx: Cx, { name, uri, appType }: Address): void {
  const judgement = judge(uri, { appType, devMode: false }, issuerOf(cx).issuer)
  const { verdict } = judgement
  if (verdict === "invalid") {
    const wanted = "must be absolute ASCII URIs without a fragment, which no browser runs by itself"
    throw metadataError(name, wanted)
  }
  if (hasDisguise(uri)) throw metadataError(name, "must not have a user name or a backslash")
  if (verdict !== "fine" && judgement.why !== "http_loopback") throw metadataError(name, insecure)
}

/** RFC 3986 §7.6: what precedes `@` looks like a host; browsers read a backslash as a slash. */
function hasDisguise(uri: string): boolean {
  const { username, password } = new URL(uri)
  return username !== "" || password !== "" || /\\|^[^/?#]*\/\/[^/?#]*@/.test(uri)
}

const insecure = "must begin with https://, or be this machine's or a native application's own"

/** RP-Initiated, Back-Channel and Front-Channel Logout, each §2; absent is none. */
function logoutsIn(cx: Cx, members: Members, appType: AppType) {
  const postLogoutRedirectUris = textsIn(members, "post_logout_redirect_uris") ?? []
  const name = "post_logout_redirect_uris"
  for (const uri of postLogoutRedirectUris) checkAddress(cx, { name, uri, appType })
  const backChannelLogoutUri = textIn(members, "backchannel_logout_uri") ?? ""
  // Back-Channel Logout §2.2: what is sent there says who has signed out.
  if (backChannelLogoutUri !== "" && !/^https:/i.test(backChannelLogoutUri)) {
    throw metadataError("backchannel_logout_uri", "must begin with https://")
  }
  const uri = textIn(members, "frontchannel_logout_uri") ?? ""
  const sessionRequired = flagIn(members, "frontchannel_logout_session_required")
  return {
    postLogoutRedirectUris,
    backChannelLogoutUri,
    frontChannelLogout: { uri, sessionRequired },
  }
}

/** OpenID Connect Registration §2, id_token_signed_response_alg; left out, the instance says it. */
function tokensIn(cx: Cx, members: Members, before: OidcConfig | undefined): TokenConfig {
  const { idTokenAlgorithm: _, ...kept } = before?.tokens ?? {}
  const algorithm = textIn(members, "id_token_signed_response_alg")
  if (algorithm === undefined) return kept
  const signing: readonly string[] = signingAlgorithms(cx)
  if (signing.includes(algorithm)) return { ...kept, idTokenAlgorithm: algorithm }
  throw metadataError("id_token_signed_response_alg", `must be one of: ${signing.join(", ")}`)
}

function known<T>(name: string, table: Readonly<Record<string, T>>, said: string): T {
  const found = Object.hasOwn(table, said) ? table[said] : undefined
  if (found !== undefined) return found
  throw metadataError(name, `must be one of: ${Object.keys(table).join(", ")}`)
}

const wire = <T extends string>(table: Readonly<Record<string, T>>, values: readonly T[]) =>
  Object.entries(table).flatMap(([name, value]) => (values.includes(value) ? [name] : []))

/** What is registered, as RFC 7591 §3.2.1 wants it said. */
export function metadataFrom({ name, oidc, jwks, scope = "" }: ClientMetadata): object {
  const config = { ...oidcDefaults, ...oidc }
  const { frontChannelLogout: front, requestRules: rules, tokens } = config
  return {
    client_name: name,
    redirect_uris: config.redirectUris,
    token_endpoint_auth_method: wire(authMethods, [config.authMethod])[0],
    grant_types: wire(grantTypes, config.grantTypes),
    response_types: wire(responseTypes, config.responseTypes),
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
