import { requireInstance } from "../domain/instance/index.ts"
import { callbackPaths } from "../login/index.ts"
import { cached } from "../store/index.ts"

/** What every endpoint must know of the instance that it speaks for. */
export type Issuer = {
  /** The configured public address, never what a request calls us. */
  readonly issuer: string
  readonly secure: boolean
  /** Our own project, in the audience of whoever may call the management interface. */
  readonly projectId: string
  /** The console, which alone is ourselves. */
  readonly consoleAppId: string
}

export const issuerOf = cached(
  (cx): Issuer => {
    const { publicUrl: issuer, projectId, consoleAppId } = requireInstance(cx)
    return { issuer, secure: issuer.startsWith("https:"), projectId, consoleAppId }
  },
  ["instance"],
)

/** Addresses of the endpoints; discovery and the router read the same table. */
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
