import type { RedirectSettings } from "../../../src/protocol/redirect-uri.ts"
import type { AuthName } from "./protocol.ts"

/** Endpoint names in discovery (OpenID Connect Discovery §3). */
export const endpointNames = [
  "authorization_endpoint",
  "token_endpoint",
  "userinfo_endpoint",
  "introspection_endpoint",
  "revocation_endpoint",
  "end_session_endpoint",
  "jwks_uri",
  "device_authorization_endpoint",
  "pushed_authorization_request_endpoint",
] as const
export type EndpointName = (typeof endpointNames)[number]

/** Client and server data for the snippets. */
export type ClientDescription = {
  readonly issuer: string
  /** The server as reached from a proxy on its host: an origin, or "unix:" and a path. */
  readonly upstream: string
  readonly endpoint: (endpoint: EndpointName) => string
  readonly clientId: string
  /** Available only once, after creation; the server stores a hash. */
  readonly secret: string | undefined
  /** How the client authenticates. */
  readonly auth: AuthName
  /** Whether the client only introspects tokens, without sign-ins. */
  readonly isApi: boolean
  /** Where it runs: on a server, in a browser or on a device. */
  readonly appType: RedirectSettings["appType"]
  /** Whether it uses the authorization code grant. */
  readonly hasCode: boolean
  readonly redirectUris: readonly string[]
  /** The requested scopes; empty for an API. */
  readonly scope: string
  /** 32 random characters with which the software encrypts its cookies. */
  readonly passphrase: string
}

/** A configuration snippet for one kind of software. */
export type Snippet = {
  readonly name: string
  readonly text: string
  /** The redirect URI that this software needs, if it is not registered yet. */
  readonly requiredRedirectUri?: string
}
