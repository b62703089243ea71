import type { DemoTokens } from "../../../ui/development/index.ts"
import { loadOnce } from "../../kernel/lazy.ts"
import { lru } from "../../kernel/lru.ts"

const loadOauth = loadOnce(() => import("oauth4webapi"))

const scope = "openid profile email phone offline_access urn:core:iam:org:projects:roles"

/** The state of the application for one browser, in memory. */
type DemoSession = {
  readonly pending?: { readonly state: string; readonly nonce: string; readonly verifier: string }
  readonly tokens?: DemoTokens
  readonly failure?: string
}

type DemoClient = { readonly issuer: string; readonly clientId: string }
type PendingRequest = NonNullable<DemoSession["pending"]>

const callbackUrlOf = ({ issuer }: DemoClient) => `${issuer}/dev/demo/callback`

/** The server as described by discovery; plain http is only for this machine. */
async function discover({ issuer }: DemoClient) {
  const oauth = await loadOauth()
  const options = { [oauth.allowInsecureRequests]: true }
  const found = await oauth.discoveryRequest(new URL(issuer), { algorithm: "oidc", ...options })
  return { oauth, options, server: await oauth.processDiscoveryResponse(new URL(issuer), found) }
}

/** OpenID Connect Core §3.1.2.1, with RFC 7636. */
async function createRequest(demoClient: DemoClient, prompt: string | null) {
  const { oauth, server } = await discover(demoClient)
  const verifier = oauth.generateRandomCodeVerifier()
  const sent = { state: oauth.generateRandomState(), nonce: oauth.generateRandomNonce() }
  const url = new URL(server.authorization_endpoint ?? demoClient.issuer)
  url.search = new URLSearchParams({
    client_id: demoClient.clientId,
    redirect_uri: callbackUrlOf(demoClient),
    response_type: "code",
    scope,
    ...sent,
    code_challenge_method: "S256",
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    ...(prompt && { prompt }),
  }).toString()
  return { asked: { ...sent, verifier }, href: url.href }
}

/** OpenID Connect Core §3.1.3 and §5.3. */
async function exchangeCode(
  demoClient: DemoClient,
  url: URL,
  pending: PendingRequest,
): Promise<DemoTokens> {
  const { oauth, options, server } = await discover(demoClient)
  const client = { client_id: demoClient.clientId }
  const checked = oauth.validateAuthResponse(server, client, url, pending.state)
  const response = await oauth.authorizationCodeGrantRequest(
    ...([server, client, oauth.None(), checked] as const),
    ...([callbackUrlOf(demoClient), pending.verifier, options] as const),
  )
  const got = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: pending.nonce,
    requireIdToken: true,
  })
  await oauth.validateApplicationLevelSignature(server, response, options)
  const claims = oauth.getValidatedIdTokenClaims(got)
  if (!claims) throw new Error("the response has no ID token")
  const notified = await oauth.userInfoRequest(server, client, got.access_token, options)
  const userinfo = await oauth.processUserInfoResponse(server, client, claims.sub, notified)
  return {
    claims,
    userinfo,
    idToken: got.id_token ?? "",
    accessToken: got.access_token,
    refreshToken: got.refresh_token,
  }
}

/**
 * An ordinary OpenID Connect client: it uses a library over HTTP and has only the URL of the
 * server.
 */
export function createDemo(issuer: string, clientId: string) {
  const visits = lru<DemoSession>(100)
  const client = { issuer, clientId }
  return {
    visit: (id: string): DemoSession => visits.get(id) ?? {},
    /** The URL of the sign-in for the browser. */
    begin: async (id: string, prompt: string | null): Promise<string> => {
      const { asked: pending, href } = await createRequest(client, prompt)
      visits.set(id, { pending })
      return href
    },
    /** Handles the callback; errors are shown on the page. */
    end: async (id: string, url: URL): Promise<void> => {
      const { pending } = visits.get(id) ?? {}
      if (!pending) return
      try {
        visits.set(id, { tokens: await exchangeCode(client, url, pending) })
      } catch (cause) {
        const described = url.searchParams.get("error_description")
        visits.set(id, { failure: described ?? (cause instanceof Error ? cause.message : "") })
      }
    },
    /** Deletes the tokens and returns the URL of the sign-out. */
    leave: async (id: string): Promise<string> => {
      const { tokens } = visits.get(id) ?? {}
      visits.delete(id)
      if (!tokens) return `${issuer}/dev/demo`
      const { server } = await discover(client)
      const url = new URL(server.end_session_endpoint ?? issuer)
      url.searchParams.set("id_token_hint", tokens.idToken)
      url.searchParams.set("post_logout_redirect_uri", `${issuer}/dev/demo`)
      return url.href
    },
  }
}
