import { createHash } from "node:crypto"
import type { AuthorizationServer, Client, ClientAuth } from "oauth4webapi"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { type OwnedIdp, withAuthority } from "../commands.ts"
import type { FlowState } from "../intent/flow-state.ts"
import type { Settings } from "../model.ts"
import { secretOf } from "../secret.ts"
import { createAppleSecret } from "./apple.ts"
import { validateIdToken, validateUserInfo } from "./id-token.ts"
import { type AuthenticatedAnswer, type ProviderAnswer, upstreamError } from "./identity.ts"
import { type KeySource, verifyClaims } from "./keys.ts"
import { type RawProfile, requireObject } from "./profile.ts"
import { formatClaim, refusedAnswer } from "./refused-answer.ts"
import { getServer, httpOptions, loadOauth, refreshServer, sendRequest } from "./server.ts"
import { statedSignInTime } from "./sign-in-time.ts"
import { redirectUriOf } from "./start.ts"
import { parseTokenAnswer } from "./token.ts"
import { findUpstream, type OauthUpstream, type OidcUpstream, type Upstream } from "./vendor.ts"

/** The callback request of the browser after a redirect to a provider. */
export type CallbackInput = {
  readonly parameters: URLSearchParams
  readonly headers: Headers
  readonly flow: FlowState
}

type Oauth = Awaited<ReturnType<typeof loadOauth>>

type TokenExchange = {
  readonly oauth: Oauth
  readonly server: AuthorizationServer
  readonly client: Client
  readonly response: Response
}

/**
 * Exchanges the code, or takes the token, and reads the user's identity. All failures are one
 * fault; the cause has the details.
 */
export async function finishSignIn(
  cx: Cx,
  ownedIdp: OwnedIdp,
  returned: CallbackInput,
): Promise<AuthenticatedAnswer> {
  try {
    return withAuthority(cx, ownedIdp, await fetchAnswer(cx, ownedIdp, returned))
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw upstreamError("answer_refused", cause)
  }
}

async function fetchAnswer(
  cx: Cx,
  ownedIdp: OwnedIdp,
  returned: CallbackInput,
): Promise<ProviderAnswer> {
  const { settings } = ownedIdp.idp
  const upstream = findUpstream(settings)
  if (settings.kind === "jwt") return parseTokenAnswer(cx, settings, returned.headers)
  if (!upstream) throw upstreamError("answer_refused")
  const exchange = await exchangeCode(cx, ownedIdp, returned)
  return upstream.protocol === "oidc"
    ? fetchOidcAnswer(cx, exchange, { found: ownedIdp, upstream, callback: returned })
    : fetchOauthAnswer(cx, exchange, upstream)
}

/** RFC 6749 §4.1.3, with RFC 7636 and RFC 9207. */
async function exchangeCode(
  cx: Cx,
  ownedIdp: OwnedIdp,
  { parameters, flow }: CallbackInput,
): Promise<TokenExchange> {
  const oauth = await loadOauth()
  const { settings } = ownedIdp.idp
  const upstream = findUpstream(settings)
  if (!upstream) throw upstreamError("answer_refused")
  const server = withVerifiedIssuer(await getServer(cx, upstream), upstream, parameters)
  const client: Client = { client_id: upstream.clientId, [oauth.clockTolerance]: 60 }
  if (parameters.get("error") === "access_denied") throw upstreamError("cancelled")
  // The state was already matched; the library requires it as well.
  const state = parameters.get("state") ?? ""
  const checked = oauth.validateAuthResponse(server, client, parameters, state)
  const secret = secretOf(cx, ownedIdp.idp.id)
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    await createClientAuth(cx, oauth, { settings, secret, server }),
    checked,
    redirectUriOf(cx, ownedIdp),
    upstream.usePkce ? flow.verifier : oauth.nopkce,
    httpOptions(cx, oauth),
  )
  return { oauth, server, client, response }
}

/**
 * RFC 9207 §2.4: without a configured issuer, an issuer parameter must be a prefix of the
 * authorization endpoint; any other belongs to another provider.
 */
function withVerifiedIssuer(
  server: AuthorizationServer,
  upstream: Upstream,
  parameters: URLSearchParams,
): AuthorizationServer {
  const issuer = parameters.get("iss")
  if (upstream.protocol !== "oauth" || upstream.issuer !== "" || !issuer) return server
  const [outer, inner] = [URL.parse(issuer), URL.parse(upstream.authorizationEndpoint)]
  if (!outer || !inner || outer.origin !== inner.origin || outer.search !== "") return server
  const folder = outer.pathname.replace(/\/?$/, "/")
  return inner.pathname.startsWith(folder) ? { ...server, issuer } : server
}

type ClientAuthOptions = {
  readonly settings: Settings
  readonly secret: string
  readonly server: AuthorizationServer
}

/**
 * RFC 6749 §2.3.1: uses the Authorization header if the provider doesn't accept the secret in the
 * body.
 */
async function createClientAuth(
  cx: Cx,
  oauth: Oauth,
  { settings, secret, server }: ClientAuthOptions,
): Promise<ClientAuth> {
  if (secret === "") return oauth.None()
  if (settings.kind === "apple") {
    return oauth.ClientSecretPost(await createAppleSecret(cx, settings, secret))
  }
  const methods = server.token_endpoint_auth_methods_supported
  const isBasic = settings.kind === "oidc" || settings.kind === "gitlab_self_hosted"
  const wantsBasic = methods ? !methods.includes("client_secret_post") : isBasic
  return wantsBasic ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret)
}

type OidcAnswerOptions = {
  readonly found: OwnedIdp
  readonly upstream: OidcUpstream
  readonly callback: CallbackInput
}

/**
 * OpenID Connect Core §3.1.3.7: verifies the ID token with the issuer's keys, then fetches the
 * profile.
 */
async function fetchOidcAnswer(
  cx: Cx,
  { oauth, server, client, response }: TokenExchange,
  { found: ownedIdp, upstream, callback: returned }: OidcAnswerOptions,
): Promise<ProviderAnswer> {
  const { answer, idToken } = await parseTokenResponse(response)
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer)
  if (idToken === "") throw new Error("the token response has no id_token")
  const { access_token: accessToken } = tokens
  const source = keySourceOf(cx, upstream, server)
  const stated = server.id_token_signing_alg_values_supported
  const claims = await verifyClaims(cx, idToken, { source, subject: "ID token", stated })
  const { clientId } = upstream
  const { options } = ownedIdp.idp
  const expected = { issuer: server.issuer, clientId, nonce: returned.flow.nonce, options }
  const sub = validateIdToken(claims, expected)
  validateAtHash(idToken, accessToken, claims.at_hash)
  const unsignedProfile = upstream.isIdTokenOnly || !server.userinfo_endpoint
  const profileClaims = unsignedProfile
    ? parseAppleName(returned.parameters)
    : await fetchUserInfo(cx, { oauth, server, client, response }, { accessToken, sub, source })
  // Claims of the signed ID token take precedence over the UserInfo response.
  const raw = { ...profileClaims, ...claims, sub }
  const identity = upstream.parseProfile(raw)
  return { identity, raw, accessToken, idToken, ...statedSignInTime(claims) }
}

/** The keys of an issuer, at the URL in its discovery document. */
const keySourceOf = (cx: Cx, upstream: OidcUpstream, server: AuthorizationServer): KeySource => ({
  name: `oidc ${upstream.issuer}`,
  url: async (isAgain) => {
    const { jwks_uri } = isAgain ? await refreshServer(cx, upstream) : server
    return jwks_uri ?? ""
  },
})

/**
 * OpenID Connect Core §3.1.3.8: the at_hash of the ID token must match the access token. The
 * library leaves this check to the caller.
 */
function validateAtHash(idToken = "", accessToken: string, atHash: unknown): void {
  if (atHash === undefined) return
  const { alg } = requireObject(
    JSON.parse(Buffer.from(idToken.split(".")[0] ?? "", "base64url").toString()),
  )
  const bits = /(256|384|512)$/.exec(String(alg))?.[1] ?? "512"
  const digest = createHash(`sha${bits}`).update(accessToken).digest()
  if (atHash === digest.subarray(0, digest.length / 2).toString("base64url")) return
  const received = formatClaim(atHash)
  throw refusedAnswer({ rule: "at_hash", subject: "at_hash", received, expected: [] })
}

type UserInfoOptions = {
  readonly accessToken: string
  readonly sub: string
  readonly source: KeySource
}

/** OpenID Connect Core §5.3: the profile, as JSON or as a signed JWT. */
async function fetchUserInfo(
  cx: Cx,
  { oauth, server, client }: TokenExchange,
  { accessToken, sub, source }: UserInfoOptions,
): Promise<RawProfile> {
  const response = await oauth.userInfoRequest(server, client, accessToken, httpOptions(cx, oauth))
  if (!response.ok) throw new Error(`the UserInfo endpoint returned status ${response.status}`)
  const body = (await response.text()).trim()
  // JSON begins with a brace, a JWT doesn't.
  const isSigned = !body.startsWith("{")
  const stated = userInfoAlgorithmsOf(server)
  const claims = isSigned
    ? await verifyClaims(cx, body, { source, subject: "UserInfo", stated })
    : requireObject(JSON.parse(body))
  validateUserInfo(claims, { sub, issuer: server.issuer, clientId: client.client_id, isSigned })
  return claims
}

/** OpenID Connect Discovery §3, `userinfo_signing_alg_values_supported`. */
const userInfoAlgorithmsOf = (server: AuthorizationServer): readonly string[] | undefined =>
  server.userinfo_signing_alg_values_supported

/** Apple sends the name once, unsigned, with the code; it is only used as a display name. */
function parseAppleName(parameters: URLSearchParams): RawProfile {
  const user = parameters.get("user")
  if (!user || user.length > 2000) return {}
  const { name } = requireObject(JSON.parse(user))
  if (name === undefined) return {}
  const { firstName, lastName } = requireObject(name)
  return { given_name: firstName, family_name: lastName }
}

async function fetchOauthAnswer(
  cx: Cx,
  { oauth, server, client, response }: TokenExchange,
  upstream: OauthUpstream,
): Promise<ProviderAnswer> {
  // Without an issuer the ID token can't be verified, so it is ignored.
  const { answer } = await parseTokenResponse(response)
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer)
  const { access_token: accessToken } = tokens
  const { userEndpoint, emailsEndpoint } = upstream
  const profile = requireObject(await fetchProfile(cx, userEndpoint, accessToken))
  const emails = emailsEndpoint && (await fetchEmails(cx, emailsEndpoint, accessToken))
  const raw = { ...profile, ...(emails !== undefined && { emails }) }
  return { identity: upstream.parseProfile(raw), raw, accessToken, idToken: "" }
}

/**
 * Prepares a token response for the library and extracts the ID token, which is verified here. Some
 * providers send the scopes as a list, where RFC 6749 §5.1 requires a string.
 */
async function parseTokenResponse(
  response: Response,
): Promise<{ answer: Response; idToken: string }> {
  if (!response.ok) return { answer: response, idToken: "" }
  const { id_token: idToken, scope, ...rest } = requireObject(await response.json())
  const isList = Array.isArray(scope) && scope.every((each) => typeof each === "string")
  const scopes = isList ? scope.join(" ") : scope
  const answer = Response.json({ ...rest, ...(scopes !== undefined && { scope: scopes }) })
  return { answer, idToken: typeof idToken === "string" ? idToken : "" }
}

async function fetchProfile(cx: Cx, url: string, accessToken: string): Promise<unknown> {
  const response = await fetchWithToken(cx, url, accessToken)
  if (!response.ok) throw new Error(`the profile endpoint returned status ${response.status}`)
  return response.json()
}

/**
 * docs.github.com/rest/users/emails: an app without permission to read email addresses gets 403 or
 * 404. Its users sign in without a verified address.
 */
async function fetchEmails(cx: Cx, url: string, accessToken: string): Promise<unknown> {
  const response = await fetchWithToken(cx, url, accessToken)
  if (response.status === 403 || response.status === 404) return undefined
  if (!response.ok) throw new Error(`the email endpoint returned status ${response.status}`)
  return response.json()
}

/** RFC 6750 §2.1 */
function fetchWithToken(cx: Cx, url: string, accessToken: string): Promise<Response> {
  const headers = { authorization: `Bearer ${accessToken}`, accept: "application/json" }
  return sendRequest(cx, url, { method: "GET", headers })
}
