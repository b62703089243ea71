import { createHash } from "node:crypto"
import type { AuthorizationServer, Client, ClientAuth } from "oauth4webapi"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { answeredBy, type Found, secretOf } from "../commands.ts"
import type { Kept } from "../intent/kept.ts"
import type { Settings } from "../model.ts"
import { appleSecret } from "./apple.ts"
import { type Raw, rawOf } from "./dialect.ts"
import { mustBeUserInfoOf, subjectOfIdToken } from "./id-token.ts"
import { type Answer, type Answered, upstreamError } from "./identity.ts"
import { type KeySource, verifiedClaims } from "./keys.ts"
import { refusedAnswer, shownClaim } from "./refused.ts"
import { loadOauth, outgoing, serverAgain, serverOf, waysOut } from "./server.ts"
import { statedIn } from "./sign-in-time.ts"
import { redirectUriOf } from "./start.ts"
import { tokenAnswer } from "./token.ts"
import { type OauthUpstream, type OidcUpstream, type Upstream, upstreamOf } from "./vendor.ts"

/** What the browser has brought back from a provider. */
export type Returned = {
  readonly parameters: URLSearchParams
  readonly headers: Headers
  readonly kept: Kept
}

type Oauth = Awaited<ReturnType<typeof loadOauth>>

type Exchange = {
  readonly oauth: Oauth
  readonly server: AuthorizationServer
  readonly client: Client
  readonly response: Response
}

/**
 * Exchanges the code that a browser has brought, or takes its token, and reads who it is.
 * Everything that is wrong about the answer is one fault; what exactly stands in its cause.
 */
export async function finish(cx: Cx, found: Found, returned: Returned): Promise<Answered> {
  try {
    return answeredBy(cx, found, await answerOf(cx, found, returned))
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw upstreamError("answer_refused", cause)
  }
}

async function answerOf(cx: Cx, found: Found, returned: Returned): Promise<Answer> {
  const { settings } = found.idp
  const upstream = upstreamOf(settings)
  if (settings.kind === "jwt") return tokenAnswer(cx, settings, returned.headers)
  if (!upstream) throw upstreamError("answer_refused")
  const exchange = await exchanged(cx, found, returned)
  return upstream.protocol === "oidc"
    ? oidcAnswer(cx, exchange, { found, upstream, returned })
    : oauthAnswer(cx, exchange, upstream)
}

/** RFC 6749 §4.1.3, with RFC 7636 and RFC 9207. */
async function exchanged(cx: Cx, found: Found, { parameters, kept }: Returned): Promise<Exchange> {
  const oauth = await loadOauth()
  const { settings } = found.idp
  const upstream = upstreamOf(settings)
  if (!upstream) throw upstreamError("answer_refused")
  const server = named(await serverOf(cx, upstream), upstream, parameters)
  const client: Client = { client_id: upstream.clientId, [oauth.clockTolerance]: 60 }
  if (parameters.get("error") === "access_denied") throw upstreamError("cancelled")
  // The state was matched before; the library wants to see that it is the same.
  const state = parameters.get("state") ?? ""
  const checked = oauth.validateAuthResponse(server, client, parameters, state)
  const secret = secretOf(cx, found.idp.id)
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    await authOf(cx, oauth, { settings, secret, server }),
    checked,
    redirectUriOf(cx, found),
    upstream.usePkce ? kept.verifier : oauth.nopkce,
    waysOut(cx, oauth),
  )
  return { oauth, server, client, response }
}

/**
 * RFC 9207 §2.4: where nobody has said what a provider calls itself, an answer that names it must
 * name what its authorization endpoint lies below; any other is another provider's.
 */
function named(
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

type Authenticating = {
  readonly settings: Settings
  readonly secret: string
  readonly server: AuthorizationServer
}

/** RFC 6749 §2.3.1: by the header, where the provider doesn't want it in the body. */
async function authOf(
  cx: Cx,
  oauth: Oauth,
  { settings, secret, server }: Authenticating,
): Promise<ClientAuth> {
  if (secret === "") return oauth.None()
  if (settings.kind === "apple") {
    return oauth.ClientSecretPost(await appleSecret(cx, settings, secret))
  }
  const methods = server.token_endpoint_auth_methods_supported
  const isBasic = settings.kind === "oidc" || settings.kind === "gitlab_self_hosted"
  const wantsBasic = methods ? !methods.includes("client_secret_post") : isBasic
  return wantsBasic ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret)
}

type OidcAsked = {
  readonly found: Found
  readonly upstream: OidcUpstream
  readonly returned: Returned
}

/** OpenID Connect Core §3.1.3.7: the id_token, with the keys of the issuer; then the profile. */
async function oidcAnswer(
  cx: Cx,
  { oauth, server, client, response }: Exchange,
  { found, upstream, returned }: OidcAsked,
): Promise<Answer> {
  const { answer, idToken } = await tokensIn(response)
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer)
  if (idToken === "") throw new Error("the token response has no id_token")
  const { access_token: accessToken } = tokens
  const source = keySourceOf(cx, upstream, server)
  const stated = server.id_token_signing_alg_values_supported
  const claims = await verifiedClaims(cx, idToken, { source, subject: "ID token", stated })
  const { clientId } = upstream
  const { options } = found.idp
  const expected = { issuer: server.issuer, clientId, nonce: returned.kept.nonce, options }
  const sub = subjectOfIdToken(claims, expected)
  mustBeTogether(idToken, accessToken, claims.at_hash)
  const told = upstream.isIdTokenOnly || !server.userinfo_endpoint
  const asked = told
    ? nameOf(returned.parameters)
    : await userInfo(cx, { oauth, server, client, response }, { accessToken, sub, source })
  // What is signed for us counts before what a bearer is told.
  const raw = { ...asked, ...claims, sub }
  const identity = upstream.profile(raw)
  return { identity, raw, accessToken, idToken, ...statedIn(claims) }
}

/** The keys of an issuer, at the address that its discovery document states. */
const keySourceOf = (cx: Cx, upstream: OidcUpstream, server: AuthorizationServer): KeySource => ({
  name: `oidc ${upstream.issuer}`,
  url: async (isAgain) => {
    const { jwks_uri } = isAgain ? await serverAgain(cx, upstream) : server
    return jwks_uri ?? ""
  },
})

/**
 * OpenID Connect Core §3.1.3.8: an id_token that names an access token comes with that one. The
 * library leaves this to whoever asks with the access token.
 */
function mustBeTogether(idToken = "", accessToken: string, atHash: unknown): void {
  if (atHash === undefined) return
  const { alg } = rawOf(
    JSON.parse(Buffer.from(idToken.split(".")[0] ?? "", "base64url").toString()),
  )
  const bits = /(256|384|512)$/.exec(String(alg))?.[1] ?? "512"
  const digest = createHash(`sha${bits}`).update(accessToken).digest()
  if (atHash === digest.subarray(0, digest.length / 2).toString("base64url")) return
  const received = shownClaim(atHash)
  throw refusedAnswer({ rule: "at_hash", subject: "at_hash", received, expected: [] })
}

type UserInfoOptions = {
  readonly accessToken: string
  readonly sub: string
  readonly source: KeySource
}

/** OpenID Connect Core §5.3: the profile, as JSON or as a JWT that the provider has signed. */
async function userInfo(
  cx: Cx,
  { oauth, server, client }: Exchange,
  { accessToken, sub, source }: UserInfoOptions,
): Promise<Raw> {
  const response = await oauth.userInfoRequest(server, client, accessToken, waysOut(cx, oauth))
  if (!response.ok) throw new Error(`the UserInfo endpoint answered with status ${response.status}`)
  const body = (await response.text()).trim()
  // JSON begins with a brace, which no JWT has.
  const isSigned = !body.startsWith("{")
  const stated = statedAlgorithms(server)
  const claims = isSigned
    ? await verifiedClaims(cx, body, { source, subject: "UserInfo", stated })
    : rawOf(JSON.parse(body))
  mustBeUserInfoOf(claims, { sub, issuer: server.issuer, clientId: client.client_id, isSigned })
  return claims
}

/** OpenID Connect Discovery §3, `userinfo_signing_alg_values_supported`. */
const statedAlgorithms = (server: AuthorizationServer): readonly string[] | undefined =>
  server.userinfo_signing_alg_values_supported

/** Apple tells the name once, beside the code; nobody signed it, so it is no more than a name. */
function nameOf(parameters: URLSearchParams): Raw {
  const user = parameters.get("user")
  if (!user || user.length > 2000) return {}
  const { name } = rawOf(JSON.parse(user))
  if (name === undefined) return {}
  const { firstName, lastName } = rawOf(name)
  return { given_name: firstName, family_name: lastName }
}

async function oauthAnswer(
  cx: Cx,
  { oauth, server, client, response }: Exchange,
  upstream: OauthUpstream,
): Promise<Answer> {
  // Nobody could check an id_token without an issuer, and nothing of it is used.
  const { answer } = await tokensIn(response)
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer)
  const { access_token: accessToken } = tokens
  const { userEndpoint, emailsEndpoint } = upstream
  const profile = rawOf(await profileAt(cx, userEndpoint, accessToken))
  const emails = emailsEndpoint && (await emailsAt(cx, emailsEndpoint, accessToken))
  const raw = { ...profile, ...(emails !== undefined && { emails }) }
  return { identity: upstream.profile(raw), raw, accessToken, idToken: "" }
}

/**
 * A token response as the library reads it, and the id_token, which is verified here. Some
 * providers list the scopes, where RFC 6749 §5.1 has one text of them.
 */
async function tokensIn(response: Response): Promise<{ answer: Response; idToken: string }> {
  if (!response.ok) return { answer: response, idToken: "" }
  const { id_token: idToken, scope, ...rest } = rawOf(await response.json())
  const isList = Array.isArray(scope) && scope.every((each) => typeof each === "string")
  const scopes = isList ? scope.join(" ") : scope
  const answer = Response.json({ ...rest, ...(scopes !== undefined && { scope: scopes }) })
  return { answer, idToken: typeof idToken === "string" ? idToken : "" }
}

async function profileAt(cx: Cx, url: string, accessToken: string): Promise<unknown> {
  const response = await read(cx, url, accessToken)
  if (!response.ok) throw new Error(`the profile was answered with status ${response.status}`)
  return response.json()
}

/**
 * docs.github.com/rest/users/emails: an app without the permission to read addresses gets 403 or
 * 404. Its users sign in without a verified address.
 */
async function emailsAt(cx: Cx, url: string, accessToken: string): Promise<unknown> {
  const response = await read(cx, url, accessToken)
  if (response.status === 403 || response.status === 404) return undefined
  if (!response.ok) throw new Error(`the addresses were answered with status ${response.status}`)
  return response.json()
}

/** RFC 6750 §2.1 */
function read(cx: Cx, url: string, accessToken: string): Promise<Response> {
  const headers = { authorization: `Bearer ${accessToken}`, accept: "application/json" }
  return outgoing(cx, url, { method: "GET", headers })
}
