import type { OidcApp } from "../../domain/app/index.ts"

/**
 * Whether a redirect URI is one that the application registered. Compared character by character
 * (RFC 9700 §2.1); only a native application on its own machine may choose the port.
 */
export function isRegistered(
  { appType, redirectUris }: Pick<OidcApp["oidc"], "appType" | "redirectUris">,
  uri: string,
): boolean {
  if (redirectUris.includes(uri)) return true
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
