import type { DemoTokens } from "../../../ui/development/index.ts"
import { lazily } from "../../kernel/lazy.ts"
import { lru } from "../../kernel/lru.ts"

const loadOauth = lazily(() => import("oauth4webapi"))

const scope = "openid profile email phone offline_access urn:core:iam:org:projects:roles"

/** What the application keeps for one browser, in memory. */
type Visit = {
  readonly asked?: { readonly state: string; readonly nonce: string; readonly verifier: string }
  readonly tokens?: DemoTokens
  readonly failure?: string
}

type Client = { readonly issuer: string; readonly clientId: string }
type Asked = NonNullable<Visit["asked"]>

const callbackOf = ({ issuer }: Client) => `${issuer}/dev/demo/callback`

/** The server as discovery describes it; plain http is for this machine. */
async function connected({ issuer }: Client) {
  const oauth = await loadOauth()
  const options = { [oauth.allowInsecureRequests]: true }
  const found = await oauth.discoveryRequest(new URL(issuer), { algorithm: "oidc", ...options })
  return { oauth, options, server: await oauth.processDiscoveryResponse(new URL(issuer), found) }
}

/** OpenID Connect Core §3.1.2.1, with RFC 7636. */
async function asking(of: Client, prompt: string | null) {
  const { oauth, server } = await connected(of)
  const verifier = oauth.generateRandomCodeVerifier()
  const sent = { state: oauth.generateRandomState(), nonce: oauth.generateRandomNonce() }
  const url = new URL(server.authorization_endpoint ?? of.issuer)
  url.search = new URLSearchParams({
    client_id: of.clientId,
    redirect_uri: callbackOf(of),
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
async function exchanged(of: Client, url: URL, asked: Asked): Promise<DemoTokens> {
  const { oauth, options, server } = await connected(of)
  const client = { client_id: of.clientId }
  const checked = oauth.validateAuthResponse(server, client, url, asked.state)
  const response = await oauth.authorizationCodeGrantRequest(
    ...([server, client, oauth.None(), checked] as const),
    ...([callbackOf(of), asked.verifier, options] as const),
  )
  const got = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: asked.nonce,
    requireIdToken: true,
  })
  await oauth.validateApplicationLevelSignature(server, response, options)
  const claims = oauth.getValidatedIdTokenClaims(got)
  if (!claims) throw new Error("there is no ID token")
  const told = await oauth.userInfoRequest(server, client, got.access_token, options)
  const userinfo = await oauth.processUserInfoResponse(server, client, claims.sub, told)
  return {
    claims,
    userinfo,
    idToken: got.id_token ?? "",
    accessToken: got.access_token,
    refreshToken: got.refresh_token,
  }
}

/**
 * An OpenID Connect client like any other: by a library, over HTTP, from discovery on. It knows
 * nothing of the server but its address.
 */
export function demoOf(issuer: string, clientId: string) {
  const visits = lru<Visit>(100)
  const client = { issuer, clientId }
  return {
    visit: (id: string): Visit => visits.get(id) ?? {},
    /** Where the browser goes to sign in. */
    begin: async (id: string, prompt: string | null): Promise<string> => {
      const { asked, href } = await asking(client, prompt)
      visits.set(id, { asked })
      return href
    },
    /** Takes what the browser has brought back; what is wrong with it is shown. */
    end: async (id: string, url: URL): Promise<void> => {
      const { asked } = visits.get(id) ?? {}
      if (!asked) return
      try {
        visits.set(id, { tokens: await exchanged(client, url, asked) })
      } catch (cause) {
        const described = url.searchParams.get("error_description")
        visits.set(id, { failure: described ?? (cause instanceof Error ? cause.message : "") })
      }
    },
    /** Forgets the tokens, and answers where the browser signs out. */
    leave: async (id: string): Promise<string> => {
      const { tokens } = visits.get(id) ?? {}
      visits.delete(id)
      if (!tokens) return `${issuer}/dev/demo`
      const { server } = await connected(client)
      const url = new URL(server.end_session_endpoint ?? issuer)
      url.searchParams.set("id_token_hint", tokens.idToken)
      url.searchParams.set("post_logout_redirect_uri", `${issuer}/dev/demo`)
      return url.href
    },
  }
}
