import type { Redirecting } from "../../../src/protocol/redirect-uri.ts"
import type { AuthName } from "./protocol.ts"

/** The endpoints by their names in discovery (OpenID Connect Discovery §3). */
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

/** What the settings of other software are made from: the client and the server. */
export type ClientDescription = {
  readonly issuer: string
  /** Where a proxy on its machine reaches the server: an origin, or "unix:" and a path. */
  readonly upstream: string
  readonly at: (endpoint: EndpointName) => string
  readonly clientId: string
  /** Present only while it is shown once; the server stores a hash. */
  readonly secret: string | undefined
  /** How the client authenticates. */
  readonly auth: AuthName
  /** It only introspects tokens; nobody signs in to it. */
  readonly isApi: boolean
  /** Where it runs: on a server, in a browser or on a device. */
  readonly appType: Redirecting["appType"]
  /** Whether it uses the authorization code grant. */
  readonly hasCode: boolean
  readonly redirectUris: readonly string[]
  /** The scopes that it requests; empty for an API. */
  readonly scope: string
  /** 32 random characters with which the software encrypts its cookies. */
  readonly passphrase: string
}

/** Settings to copy into one kind of software. */
export type Snippet = {
  readonly name: string
  readonly text: string
  /** The redirect URI that this software needs, if it is not registered yet. */
  readonly wants?: string
}
