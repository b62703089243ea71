import { isInterceptable } from "../../protocol/redirect-uri.ts"
import { matchesWildcards } from "../../protocol/wildcard.ts"
import type { Cx } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import { findClient, isAppActive } from "./client.ts"
import type { OidcApp } from "./model.ts"

type RedirectRegistration = Pick<OidcApp["oidc"], "appType" | "devMode" | "redirectUris">

/**
 * Whether a redirect URI is registered for the application. Compared character by character (RFC
 * 9700 §2.1), except that native applications can choose the port on the loopback interface, and
 * applications in development mode can register wildcards.
 */
export function isRegisteredRedirectUri(registration: RedirectRegistration, uri: string): boolean {
  const { appType, devMode, redirectUris } = registration
  // A pattern is not a valid redirect URI itself, nor is a text that is not a URL.
  if (uri.includes("*") || !URL.canParse(uri)) return false
  if (redirectUris.includes(uri)) return true
  if (
    devMode &&
    redirectUris.some((registered) => registered.includes("*") && matchesWildcards(registered, uri))
  ) {
    return true
  }
  if (appType !== "native") return false
  // RFC 8252 §7.3: a native application chooses the loopback port when it starts.
  const portless = withoutPort(uri)
  return (
    portless !== undefined &&
    redirectUris.some((registered) => withoutPort(registered) === portless)
  )
}

const loopback = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(\/.*|\?.*)?$/

/** A loopback URI without its port; undefined for other URIs. */
function withoutPort(uri: string): string | undefined {
  const [whole, host, rest = ""] = loopback.exec(uri) ?? []
  return whole === undefined ? undefined : `http://${host}${rest}`
}

/** Why the response to a client is not sent to a redirect URI. */
export type RedirectProblem = "unknown client" | "unregistered" | "exposed"

/** Why no response is sent to a redirect URI; undefined if it is valid. */
export function redirectProblem(
  cx: Cx,
  { oidc }: OidcApp,
  redirectUri: string,
): Exclude<RedirectProblem, "unknown client"> | undefined {
  if (!isRegisteredRedirectUri(oidc, redirectUri)) return "unregistered"
  const issuer = requireInstance(cx).publicUrl
  return isInterceptable(oidc, redirectUri, issuer) ? "exposed" : undefined
}

/** Where the response to an authorization request is sent. */
type ResponseTarget = {
  readonly clientId: string
  readonly redirectUri: string
  /** Present for the device flow, which has no redirect URI. */
  readonly device?: object | undefined
}

/** Why the response to a request can't be sent any longer; undefined if it can. */
export function responseProblem(
  cx: Cx,
  { clientId, redirectUri, device }: ResponseTarget,
): RedirectProblem | undefined {
  const client = findClient(cx, clientId)
  if (client?.state.kind !== "oidc" || !isAppActive(cx, client.appId)) return "unknown client"
  return device ? undefined : redirectProblem(cx, client.state, redirectUri)
}
