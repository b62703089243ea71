import { fitsWildcards, type OidcApp } from "../../domain/app/index.ts"

type Registration = Pick<OidcApp["oidc"], "appType" | "devMode" | "redirectUris">

/**
 * Whether a redirect URI is one that the application registered. Compared character by character
 * (RFC 9700 §2.1); only a native application on its own machine may choose the port, and only one
 * in development mode may register wildcards.
 */
export function isRegistered(registration: Registration, uri: string): boolean {
  const { appType, devMode, redirectUris } = registration
  // A pattern is no address, however it got here.
  if (uri.includes("*")) return false
  if (redirectUris.includes(uri)) return true
  if (devMode && redirectUris.some((known) => known.includes("*") && fitsWildcards(known, uri))) {
    return true
  }
  if (appType !== "native") return false
  // RFC 8252 §7.3: the port of a loopback redirect is picked when the application starts.
  const portless = withoutPort(uri)
  return portless !== undefined && redirectUris.some((known) => withoutPort(known) === portless)
}

/**
 * RFC 9700 §2.6: whether an answer could be read on its way to a registered address. Development
 * mode allows that; and who comes to us by plain http has nothing more to lose at our own origin.
 */
export function isExposed({ devMode }: Registration, uri: string, issuer: string): boolean {
  if (!/^http:/i.test(uri) || devMode || loopback.test(uri)) return false
  return new URL(uri).origin !== new URL(issuer).origin
}

const loopback = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(\/.*|\?.*)?$/

/** A loopback URI with its port taken out, otherwise as it was written. */
function withoutPort(uri: string): string | undefined {
  const [whole, host, rest = ""] = loopback.exec(uri) ?? []
  return whole === undefined ? undefined : `http://${host}${rest}`
}
