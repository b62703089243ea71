import { createServer } from "node:http"
import * as client from "openid-client"

export type SignIn = {
  readonly claims: Readonly<Record<string, unknown>>
  readonly userinfo: Readonly<Record<string, unknown>>
  readonly idToken: string
  readonly accessToken: string
}

export type RelyingParty = {
  readonly url: string
  readonly redirectUri: string
  readonly postLogoutRedirectUri: string
  /** Sets its provider and its own registration. */
  readonly register: (issuer: string, clientId: string, clientSecret?: string) => Promise<void>
  /** Resolves with the next completed sign-in, or rejects with its error. */
  readonly next: () => Promise<SignIn>
  readonly close: () => void
}

type PendingSignIn = { resolve: (signIn: SignIn) => void; reject: (cause: unknown) => void }

/**
 * A web application as its developer would write it with openid-client: code flow with PKCE, state
 * and nonce; the ID token is verified against the provider's published keys.
 */
export async function startRelyingParty(port: number): Promise<RelyingParty> {
  const url = `http://localhost:${port}`
  const redirectUri = `${url}/callback`
  let config: client.Configuration | undefined
  let waiting: PendingSignIn | undefined
  let pending: { verifier: string; state: string; nonce: string } | undefined

  const begin = async (): Promise<URL> => {
    if (!config) throw new Error("register first")
    const verifier = client.randomPKCECodeVerifier()
    pending = { verifier, state: client.randomState(), nonce: client.randomNonce() }
    return client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: "openid profile email",
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state: pending.state,
      nonce: pending.nonce,
    })
  }
  const finish = async (current: URL): Promise<SignIn> => {
    if (!config || !pending) throw new Error("no sign-in is under way")
    const tokens = await client.authorizationCodeGrant(config, current, {
      pkceCodeVerifier: pending.verifier,
      expectedState: pending.state,
      expectedNonce: pending.nonce,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (!claims) throw new Error("no id_token came back")
    const userinfo = await client.fetchUserInfo(config, tokens.access_token, claims.sub)
    const { id_token: idToken = "", access_token: accessToken } = tokens
    return { claims, userinfo, idToken, accessToken }
  }

  const server = createServer(async (request, response) => {
    const current = new URL(request.url ?? "/", url)
    if (current.pathname !== "/" && current.pathname !== "/callback") {
      response.writeHead(200, { "content-type": "text/plain" }).end(`at ${current.pathname}`)
      return
    }
    try {
      if (current.pathname === "/") {
        response.writeHead(302, { location: (await begin()).href }).end()
        return
      }
      const signIn = await finish(current)
      response.writeHead(200, { "content-type": "text/plain" }).end(`hello ${signIn.claims.sub}`)
      waiting?.resolve(signIn)
    } catch (cause) {
      response.writeHead(500, { "content-type": "text/plain" }).end(String(cause))
      waiting?.reject(cause)
    }
  })
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done))

  return {
    url,
    redirectUri,
    postLogoutRedirectUri: `${url}/signed-out`,
    register: async (issuer, clientId, clientSecret) => {
      config = await client.discovery(
        new URL(issuer),
        clientId,
        clientSecret,
        clientSecret ? undefined : client.None(),
        { execute: [client.allowInsecureRequests] },
      )
      // Also verifies the ID token's signature, which is optional in the code flow over TLS.
      client.enableNonRepudiationChecks(config)
    },
    next: () => new Promise((resolve, reject) => (waiting = { resolve, reject })),
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
