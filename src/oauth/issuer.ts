import { requireInstance } from "../domain/instance/index.ts"
import { callbackPaths } from "../login/index.ts"
import { cacheQuery } from "../store/index.ts"

/** What every endpoint needs of its instance. */
export type Issuer = {
  /** The configured public URL, never one from a request. */
  readonly issuer: string
  readonly secure: boolean
  /** The project of the console, in the audience of tokens for the management API. */
  readonly projectId: string
  /** The console, the only built-in application. */
  readonly consoleAppId: string
}

export const issuerOf = cacheQuery(
  (cx): Issuer => {
    const { publicUrl: issuer, projectId, consoleAppId } = requireInstance(cx)
    return { issuer, secure: issuer.startsWith("https:"), projectId, consoleAppId }
  },
  ["instance"],
)

/** Paths of the endpoints, for the router and the discovery document. */
export const paths = {
  discovery: "/.well-known/openid-configuration",
  serverMetadata: "/.well-known/oauth-authorization-server",
  protectedResource: "/.well-known/oauth-protected-resource",
  keys: "/oauth/v2/keys",
  authorize: "/oauth/v2/authorize",
  callback: callbackPaths.oauth,
  par: "/oauth/v2/par",
  registration: "/oauth/v2/register",
  token: "/oauth/v2/token",
  deviceAuthorization: "/oauth/v2/device_authorization",
  device: "/device",
  introspection: "/oauth/v2/introspect",
  revocation: "/oauth/v2/revoke",
  userinfo: "/oidc/v1/userinfo",
  forwardAuth: "/forward-auth/",
  forwardRefused: "/forward-auth/refused",
  endSession: "/oidc/v1/endsession",
  endSessionAlias: "/oidc/v1/end_session",
} as const
