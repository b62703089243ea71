// A custom login page built with the v2 services, and an application with openid-client that uses
// it.
import * as client from "openid-client"
import type { OidcConfig } from "../../src/domain/app/index.ts"
import { browserOf, issuer, type Provider, redirectUri } from "../oauth/provider.ts"
import type { CallAs } from "./operation-caller.ts"

export const pageUri = "https://login.example.net/start"

/** The session in the page's own cookie. */
export type StoredSession = { readonly sessionId: string; readonly sessionToken: string }

const sessions = "session.v2.SessionService"
const oidc = "oidc.v2.OIDCService"

/** The page's actions, with the operations that its service account can call. */
export function createCustomLoginPage(call: CallAs) {
  const keep = ({ sessionId, sessionToken }: StoredSession): StoredSession => ({
    sessionId,
    sessionToken,
  })
  return {
    call,
    /** The request that a browser arrives with. */
    open: async (address: string) => {
      const authRequestId = new URL(address).searchParams.get("authRequest") ?? ""
      return (await call(`${oidc}/GetAuthRequest`, { authRequestId })).authRequest
    },
    signIn: async (
      loginName: string,
      password: string,
      more: object = {},
    ): Promise<StoredSession> => {
      const user = { search: { case: "loginName", value: loginName } }
      const checks = { user, password: { password }, ...more }
      return keep(await call(`${sessions}/CreateSession`, { checks }))
    },
    check: async ({ sessionId }: StoredSession, checks: object, challenges: object = {}) => {
      const response = await call(`${sessions}/SetSession`, { sessionId, checks, challenges })
      return { ...keep({ ...response, sessionId }), challenges: response.challenges }
    },
    end: ({ sessionId }: StoredSession) => call(`${sessions}/DeleteSession`, { sessionId }),
    /** The URL that the browser is redirected to with a user's session. */
    finish: async (
      { id: authRequestId }: { readonly id: string },
      value: StoredSession,
    ): Promise<string> => {
      const callbackKind = { case: "session", value }
      return (await call(`${oidc}/CreateCallback`, { authRequestId, callbackKind })).callbackUrl
    },
    /** The URL that the browser is redirected to without a session. */
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

export type CustomLoginPage = ReturnType<typeof createCustomLoginPage>

type Parameters = Readonly<Record<string, string>>

/** An application that uses the page, as its developer would write it. */
export async function addCustomLoginApp(
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
  /** Created on each use, because the provider's clock differs from ours. */
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
    /** Starts a sign-in; returns the URL that it reaches, and a function that finishes it. */
    begin: async (parameters: Parameters = {}, browser = browserOf(provider)) => {
      const verifier = client.randomPKCECodeVerifier()
      const [state, nonce] = [client.randomState(), client.randomNonce()]
      const request = client.buildAuthorizationUrl(configuration(), {
        redirect_uri: redirectUri,
        scope: "openid profile email",
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        nonce,
        ...parameters,
      })
      const { path } = await browser.go(request.pathname + request.search)
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

export type Application = Awaited<ReturnType<typeof addCustomLoginApp>>
