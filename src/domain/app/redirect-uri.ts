import { isExposed } from "../../protocol/redirect-uri.ts"
import { fitsWildcards } from "../../protocol/wildcard.ts"
import type { Cx } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import { findClient, isAppActive } from "./client.ts"
import type { OidcApp } from "./model.ts"

type Registration = Pick<OidcApp["oidc"], "appType" | "devMode" | "redirectUris">

/**
 * Whether a redirect URI is one that the application registered. Compared character by character
 * (RFC 9700 §2.1); only a native application on its own machine may choose the port, and only one
 * in development mode may register wildcards.
 */
export function isRegistered(registration: Registration, uri: string): boolean {
  const { appType, devMode, redirectUris } = registration
  // A pattern is no address, however it got here; nor is what no browser could go to.
  if (uri.includes("*") || !URL.canParse(uri)) return false
  if (redirectUris.includes(uri)) return true
  if (devMode && redirectUris.some((known) => known.includes("*") && fitsWildcards(known, uri))) {
    return true
  }
  if (appType !== "native") return false
  // RFC 8252 §7.3: the port of a loopback redirect is picked when the application starts.
  const portless = withoutPort(uri)
  return portless !== undefined && redirectUris.some((known) => withoutPort(known) === portless)
}

const loopback = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(\/.*|\?.*)?$/

/** A loopback URI with its port taken out, otherwise as it was written. */
function withoutPort(uri: string): string | undefined {
  const [whole, host, rest = ""] = loopback.exec(uri) ?? []
  return whole === undefined ? undefined : `http://${host}${rest}`
}

/** Why a client gets no answer at an address. */
export type AddressProblem = "unknown client" | "unregistered" | "exposed"

/** Why an application gets no answer at a redirect URI; undefined where it does. */
export function redirectProblem(
  cx: Cx,
  { oidc }: OidcApp,
  redirectUri: string,
): Exclude<AddressProblem, "unknown client"> | undefined {
  if (!isRegistered(oidc, redirectUri)) return "unregistered"
  const issuer = requireInstance(cx).publicUrl
  return isExposed(oidc, redirectUri, issuer) ? "exposed" : undefined
}

/** Where the answer to a request goes. */
type AnswerAddress = {
  readonly clientId: string
  readonly redirectUri: string
  /** Present for a device, which has no address. */
  readonly device?: object | undefined
}

/** Why a request gets no answer any more; undefined where it does. */
export function addressProblem(
  cx: Cx,
  { clientId, redirectUri, device }: AnswerAddress,
): AddressProblem | undefined {
  const client = findClient(cx, clientId)
  if (client?.state.kind !== "oidc" || !isAppActive(cx, client.appId)) return "unknown client"
  return device ? undefined : redirectProblem(cx, client.state, redirectUri)
}
