import { createHash } from "node:crypto"
import type { AuthorizationServer, Client, ClientAuth } from "oauth4webapi"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { answeredBy, type Found, secretOf } from "../commands.ts"
import type { Kept } from "../intent/kept.ts"
import type { Settings } from "../model.ts"
import { appleSecret } from "./apple.ts"
import { type Raw, rawOf } from "./dialect.ts"
import { type Answer, type Answered, upstreamError } from "./identity.ts"
import { loadOauth, outgoing, serverOf, waysOut } from "./server.ts"
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
    ? oidcAnswer(cx, exchange, { upstream, returned })
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

type OidcAsked = { readonly upstream: OidcUpstream; readonly returned: Returned }

/** OpenID Connect Core §3.1.3.7: the id_token, with the keys of the issuer; then the profile. */
async function oidcAnswer(
  cx: Cx,
  { oauth, server, client, response }: Exchange,
  { upstream, returned }: OidcAsked,
): Promise<Answer> {
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: returned.kept.nonce,
    requireIdToken: true,
  })
  await oauth.validateApplicationLevelSignature(server, response, waysOut(cx, oauth))
  const claims = oauth.getValidatedIdTokenClaims(tokens)
  if (!claims) throw upstreamError("answer_refused")
  // OpenID Connect Core §2: what was issued to another client is no proof for this one.
  if (claims.azp !== undefined && claims.azp !== upstream.clientId) {
    throw new Error("the id_token was issued to another client")
  }
  mustBeTogether(tokens.id_token, tokens.access_token, claims.at_hash)
  const told = upstream.isIdTokenOnly || !server.userinfo_endpoint
  const asked = told
    ? nameOf(returned.parameters)
    : await userinfo(cx, { oauth, server, client, response }, [tokens.access_token, claims.sub])
  // What is signed for us counts before what a bearer is told.
  const raw = { ...asked, ...claims }
  const { access_token: accessToken, id_token: idToken = "" } = tokens
  const identity = upstream.profile(raw)
  return { identity, raw, accessToken, idToken, ...statedIn(claims) }
}

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
  throw new Error("the id_token came with another access token than it says")
}

async function userinfo(
  cx: Cx,
  { oauth, server, client }: Exchange,
  [accessToken, sub]: readonly [accessToken: string, sub: string],
): Promise<Raw> {
  const response = await oauth.userInfoRequest(server, client, accessToken, waysOut(cx, oauth))
  return rawOf(await oauth.processUserInfoResponse(server, client, sub, response))
}

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
  const tokens = await oauth.processAuthorizationCodeResponse(
    server,
    client,
    await withoutIdToken(response),
  )
  const { access_token: accessToken } = tokens
  const { userEndpoint, emailsEndpoint } = upstream
  const profile = rawOf(await read(cx, userEndpoint, accessToken))
  const emails = emailsEndpoint && (await read(cx, emailsEndpoint, accessToken))
  const raw = { ...profile, ...(emails !== undefined && { emails }) }
  return { identity: upstream.profile(raw), raw, accessToken, idToken: "" }
}

/** Nobody could check it without an issuer, and nothing of it is used. */
async function withoutIdToken(response: Response): Promise<Response> {
  if (!response.ok) return response
  const { id_token: _, ...rest } = rawOf(await response.json())
  return Response.json(rest)
}

/** RFC 6750 §2.1 */
async function read(cx: Cx, url: string, accessToken: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${accessToken}`, accept: "application/json" }
  const response = await outgoing(cx, url, { method: "GET", headers })
  if (!response.ok) throw new Error(`the profile was answered with status ${response.status}`)
  return response.json()
}
