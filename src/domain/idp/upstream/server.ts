import type { AuthorizationServer } from "oauth4webapi"
import { lazily } from "../../../kernel/lazy.ts"
import { type Lru, lru } from "../../../kernel/lru.ts"
import type { Cx } from "../../../store/index.ts"
import { ofInstance } from "../../../store/index.ts"
import { upstreamError } from "./identity.ts"
import type { OidcUpstream, Upstream } from "./vendor.ts"

/** Loaded with the first sign-in that goes to a provider. */
export const loadOauth = lazily(() => import("oauth4webapi"))

type Known = { readonly server: AuthorizationServer; readonly until: number }

const serversMax = 100
const freshMs = 10 * 60_000
const knownOf = ofInstance<Lru<Known>>(() => lru(serversMax))

/** What is known of a provider's endpoints: by discovery, or as it was set up. */
export async function serverOf(cx: Cx, upstream: Upstream): Promise<AuthorizationServer> {
  if (upstream.protocol === "oauth") {
    return {
      issuer: upstream.issuer || unknownIssuer,
      authorization_endpoint: upstream.authorizationEndpoint,
      token_endpoint: upstream.tokenEndpoint,
    }
  }
  const found = knownOf(cx).get(upstream.issuer)
  if (found && cx.clock.now() < found.until) return found.server
  return serverAgain(cx, upstream)
}

/** The same, read now. */
export async function serverAgain(
  cx: Cx,
  { issuer }: Pick<OidcUpstream, "issuer">,
): Promise<AuthorizationServer> {
  const server = await discovered(cx, issuer)
  knownOf(cx).set(issuer, { server, until: cx.clock.now() + freshMs })
  return server
}

/** RFC 9207 §2.4: nobody's, so that an answer that names any issuer is another provider's. */
const unknownIssuer = "https://unknown.invalid"

/** OpenID Connect Discovery §4: the document must be the issuer's own (§4.3). */
async function discovered(cx: Cx, issuer: string): Promise<AuthorizationServer> {
  const oauth = await loadOauth()
  const url = new URL(issuer)
  const response = await oauth.discoveryRequest(url, { algorithm: "oidc", ...waysOut(cx, oauth) })
  try {
    return await oauth.processDiscoveryResponse(url, response)
  } catch (cause) {
    throw upstreamError("answer_refused", cause)
  }
}

type Oauth = Awaited<ReturnType<typeof loadOauth>>

/**
 * Has the library go out by the guarded way alone. That addresses are encrypted is checked when
 * they are set up; what a discovery document names must be, too.
 */
export const waysOut = (cx: Cx, oauth: Oauth) => ({
  [oauth.customFetch]: (url: string, options: Outgoing) => outgoing(cx, url, options),
  [oauth.allowInsecureRequests]: true,
})

type Outgoing = {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

const sizeMax = 262_144
const timeoutMs = 10_000

/** Sends what the library would, and reads no more than fits. */
export async function outgoing(cx: Cx, url: string, options: Outgoing): Promise<Response> {
  const { method, headers, body } = options
  mustBeClosed(url)
  try {
    const reply = await cx.outside.send({
      url,
      method: method === "POST" ? "POST" : "GET",
      headers: { "user-agent": "Latchkey", ...headers },
      ...(body !== undefined && body !== null && { body: String(body) }),
      sizeMax,
      timeoutMs,
    })
    const isShown = reply.status >= 200 && reply.status <= 599 && !bodiless.has(reply.status)
    const answered = { "content-type": "application/json" }
    return new Response(isShown ? reply.body : null, {
      status: isShown || bodiless.has(reply.status) ? reply.status : 502,
      headers: answered,
    })
  } catch (cause) {
    throw upstreamError("unreachable", cause)
  }
}

/** Fetch §2.2.3: statuses that have no body. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

/** A discovery document must not lead where a secret would be read on the way. */
function mustBeClosed(text: string): void {
  const url = URL.parse(text)
  const isLocal = url !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLocal)) return
  throw upstreamError("answer_refused")
}
