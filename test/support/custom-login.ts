// A login page that somebody else has built with the services of v2 alone, and an application with
// openid-client that sends people to it.
import * as client from "openid-client"
import type { OidcConfig } from "../../src/domain/app/index.ts"
import { browserOf, issuer, type Provider, redirectUri } from "../oauth/provider.ts"
import type { Calling } from "./login-page.ts"

export const pageUri = "https://login.example.net/start"

/** What the page keeps in its own cookie. */
export type Kept = { readonly sessionId: string; readonly sessionToken: string }

const sessions = "session.v2.SessionService"
const oidc = "oidc.v2.OIDCService"

/** What the page does when a browser comes, by the operations that its service user may call. */
export function customLogin(call: Calling) {
  const keep = ({ sessionId, sessionToken }: Kept): Kept => ({ sessionId, sessionToken })
  return {
    call,
    /** The request that a browser was sent with. */
    open: async (address: string) => {
      const authRequestId = new URL(address).searchParams.get("authRequest") ?? ""
      return (await call(`${oidc}/GetAuthRequest`, { authRequestId })).authRequest
    },
    signIn: async (loginName: string, password: string, more: object = {}): Promise<Kept> => {
      const user = { search: { case: "loginName", value: loginName } }
      const checks = { user, password: { password }, ...more }
      return keep(await call(`${sessions}/CreateSession`, { checks }))
    },
    check: async ({ sessionId }: Kept, checks: object, challenges: object = {}) => {
      const answer = await call(`${sessions}/SetSession`, { sessionId, checks, challenges })
      return { ...keep({ ...answer, sessionId }), challenges: answer.challenges }
    },
    end: ({ sessionId }: Kept) => call(`${sessions}/DeleteSession`, { sessionId }),
    /** Where the browser goes with the person of a session. */
    finish: async (
      { id: authRequestId }: { readonly id: string },
      value: Kept,
    ): Promise<string> => {
      const callbackKind = { case: "session", value }
      return (await call(`${oidc}/CreateCallback`, { authRequestId, callbackKind })).callbackUrl
    },
    /** Where the browser goes without one. */
    refuse: async ({ id: authRequestId }: { readonly id: string }, value: object) => {
      const callbackKind = { case: "error", value }
      return (await call(`${oidc}/CreateCallback`, { authRequestId, callbackKind })).callbackUrl
    },
    device: async (userCode: string) =>
      (await call(`${oidc}/GetDeviceAuthorizationRequest`, { userCode }))
        .deviceAuthorizationRequest,
    decide: ({ id }: { readonly id: string }, decision: object) =>
      call(`${oidc}/AuthorizeOrDenyDeviceAuthorization`, {
        deviceAuthorizationId: id,
        decision,
      }),
  }
}

export type CustomLogin = ReturnType<typeof customLogin>

type Parameters = Readonly<Record<string, string>>

/** An application that the page serves, as its developer would write it. */
export async function applicationAt(
  provider: Provider,
  oidc: Partial<OidcConfig> = {},
  projectId = provider.projectId,
) {
  const loginVersion = { version: "v2", baseUri: pageUri } as const
  const registered = await provider.addClient({ loginVersion, ...oidc }, projectId)
  const fetched: client.CustomFetch = (url, { method, headers, body }) => {
    const { pathname, search } = new URL(url)
    return provider.send(pathname + search, { method, headers, body: body?.toString() ?? null })
  }
  const { id, secret } = registered
  const options = { [client.customFetch]: fetched }
  const found = await client.discovery(new URL(issuer), id, secret, undefined, options)
  /** As things stand now: the provider's clock is another than ours. */
  const configuration = () => {
    const late = Math.round((provider.clock.now() - Date.now()) / 1000)
    const metadata = { client_secret: secret, [client.clockSkew]: late }
    const config = new client.Configuration(found.serverMetadata(), id, metadata)
    config[client.customFetch] = fetched
    return config
  }
  return {
    ...registered,
    configuration,
    /** Sends a browser off; answers where it came out, and what brings the sign-in to an end. */
    begin: async (parameters: Parameters = {}, browser = browserOf(provider)) => {
      const verifier = client.randomPKCECodeVerifier()
      const [state, nonce] = [client.randomState(), client.randomNonce()]
      const asked = client.buildAuthorizationUrl(configuration(), {
        redirect_uri: redirectUri,
        scope: "openid profile email",
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        nonce,
        ...parameters,
      })
      const { path } = await browser.go(asked.pathname + asked.search)
      const finish = async (callbackUrl: string) => {
        const tokens = await client.authorizationCodeGrant(configuration(), new URL(callbackUrl), {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
          ...(parameters.max_age !== undefined && { maxAge: Number(parameters.max_age) }),
        })
        const claims = tokens.claims()
        if (!claims) throw new Error("no id_token came back")
        return { tokens, claims }
      }
      return { path, finish, state }
    },
  }
}

export type Application = Awaited<ReturnType<typeof applicationAt>>
