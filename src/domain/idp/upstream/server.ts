import type { AuthorizationServer } from "oauth4webapi"
import { loadOnce } from "../../../kernel/lazy.ts"
import { type Lru, lru } from "../../../kernel/lru.ts"
import type { Cx } from "../../../store/index.ts"
import { perInstance } from "../../../store/index.ts"
import { upstreamError } from "./identity.ts"
import type { OidcUpstream, Upstream } from "./vendor.ts"

/** Loaded with the first sign-in through a provider. */
export const loadOauth = loadOnce(() => import("oauth4webapi"))

type CachedServer = { readonly server: AuthorizationServer; readonly until: number }

const serversMax = 100
const freshMs = 10 * 60_000
const serversByInstance = perInstance<Lru<CachedServer>>(() => lru(serversMax))

/** The endpoints of a provider, discovered or as configured. */
export async function getServer(cx: Cx, upstream: Upstream): Promise<AuthorizationServer> {
  if (upstream.protocol === "oauth") {
    return {
      issuer: upstream.issuer || unknownIssuer,
      authorization_endpoint: upstream.authorizationEndpoint,
      token_endpoint: upstream.tokenEndpoint,
    }
  }
  const found = serversByInstance(cx).get(upstream.issuer)
  if (found && cx.clock.now() < found.until) return found.server
  return refreshServer(cx, upstream)
}

/** Discovers the endpoints again. */
export async function refreshServer(
  cx: Cx,
  { issuer }: Pick<OidcUpstream, "issuer">,
): Promise<AuthorizationServer> {
  const server = await discover(cx, issuer)
  serversByInstance(cx).set(issuer, { server, until: cx.clock.now() + freshMs })
  return server
}

/** RFC 9207 §2.4: matches no provider, so an answer that states any issuer is rejected. */
const unknownIssuer = "https://unknown.invalid"

/** OpenID Connect Discovery §4: the document must state the issuer it was fetched for (§4.3). */
async function discover(cx: Cx, issuer: string): Promise<AuthorizationServer> {
  const oauth = await loadOauth()
  const url = new URL(issuer)
  const response = await oauth.discoveryRequest(url, {
    algorithm: "oidc",
    ...httpOptions(cx, oauth),
  })
  try {
    return await oauth.processDiscoveryResponse(url, response)
  } catch (cause) {
    throw upstreamError("answer_refused", cause)
  }
}

type Oauth = Awaited<ReturnType<typeof loadOauth>>

/**
 * Makes the library use the guarded HTTP client. HTTPS is checked when a provider is configured,
 * and here for URLs from discovery documents.
 */
export const httpOptions = (cx: Cx, oauth: Oauth) => ({
  [oauth.customFetch]: (url: string, options: OutgoingRequest) => sendRequest(cx, url, options),
  [oauth.allowInsecureRequests]: true,
})

type OutgoingRequest = {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

const sizeMax = 262_144
const timeoutMs = 10_000

/** Sends a request of the library; the response size is limited. */
export async function sendRequest(
  cx: Cx,
  url: string,
  options: OutgoingRequest,
): Promise<Response> {
  const { method, headers, body } = options
  requireHttps(url)
  try {
    const reply = await cx.outside.send({
      url,
      method: method === "POST" ? "POST" : "GET",
      headers: { "user-agent": "Latchkey", ...headers },
      ...(body !== undefined && body !== null && { body: String(body) }),
      sizeMax,
      timeoutMs,
    })
    const isShown =
      reply.status >= 200 && reply.status <= 599 && !statusesWithoutBody.has(reply.status)
    const responseHeaders = { "content-type": "application/json" }
    return new Response(isShown ? reply.body : null, {
      status: isShown || statusesWithoutBody.has(reply.status) ? reply.status : 502,
      headers: responseHeaders,
    })
  } catch (cause) {
    throw upstreamError("unreachable", cause)
  }
}

/** Fetch §2.2.3: statuses without a body. */
const statusesWithoutBody: ReadonlySet<number> = new Set([204, 205, 304])

/** Rejects unencrypted URLs in a discovery document, because secrets are sent there. */
function requireHttps(text: string): void {
  const url = URL.parse(text)
  const isLocal = url !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLocal)) return
  throw upstreamError("answer_refused")
}
