import { hasOnlyAllowedWildcards } from "./wildcard.ts"

// Validation of redirect URIs. The server enforces it, and the console shows it while users type.

/** The properties of an application that affect its redirect URIs. */
export type RedirectSettings = {
  readonly appType: "web" | "user_agent" | "native"
  readonly devMode: boolean
  /** Whether responses may use plain HTTP in a private network; absent means no. */
  readonly privateHttp?: boolean | undefined
}

/** Why a URI can't be registered. */
export type RedirectUriError =
  | "relative"
  | "fragment"
  | "unsafe_scheme"
  | "not_ascii"
  | "wildcard"
  | "wildcard_wide"

/** A problem of a URI that can be registered. */
export type RedirectUriConcern =
  | "custom_scheme"
  | "http"
  | "http_private"
  | "http_private_allowed"
  | "http_loopback"

export type RedirectUriAssessment =
  | { readonly verdict: "fine" }
  | { readonly verdict: "invalid"; readonly reason: RedirectUriError }
  /** Requests with it are rejected, or work but are not recommended. */
  | { readonly verdict: "refused" | "advised"; readonly reason: RedirectUriConcern }

export const maxUriLength = 2048

/** Schemes that a browser would execute or display instead of opening an application. */
const unsafeSchemes = new Set(["javascript:", "data:", "vbscript:", "blob:", "file:", "about:"])

/** RFC 6749 §3.1.2: an absolute URI without a fragment. */
export function findRedirectUriError(uri: string, devMode: boolean): RedirectUriError | undefined {
  if (uri.length > maxUriLength || !URL.canParse(uri) || /[\s\p{Cc}]/u.test(uri)) return "relative"
  if (uri.includes("#")) return "fragment"
  if (unsafeSchemes.has(new URL(uri).protocol)) return "unsafe_scheme"
  // RFC 3986 §2: URIs are ASCII; browsers may interpret other characters differently.
  if (!/^[\x21-\x7e]+$/.test(uri)) return "not_ascii"
  if (!uri.includes("*")) return undefined
  if (!devMode) return "wildcard"
  return hasOnlyAllowedWildcards(uri) ? undefined : "wildcard_wide"
}

/** Returns whether requests with a registered redirect URI succeed at an issuer. */
export function assessRedirectUri(
  uri: string,
  application: RedirectSettings,
  issuer: string,
): RedirectUriAssessment {
  const { appType, devMode } = application
  const malformation = findRedirectUriError(uri, devMode)
  if (malformation) return { verdict: "invalid", reason: malformation }
  const { protocol, hostname } = new URL(uri)
  const isNative = appType === "native"
  if (protocol === "https:") return accepted
  if (protocol !== "http:") return isNative ? accepted : createWarning("custom_scheme")
  if (isLoopback(hostname)) return isNative || devMode ? accepted : createWarning("http_loopback")
  const isPrivate = isPrivateHost(hostname)
  if (isInterceptable(application, uri, issuer)) {
    return { verdict: "refused", reason: isPrivate ? "http_private" : "http" }
  }
  return createWarning(isPrivate ? "http_private_allowed" : "http")
}

const accepted: RedirectUriAssessment = { verdict: "fine" }
const createWarning = (concern: RedirectUriConcern): RedirectUriAssessment => ({
  verdict: "advised",
  reason: concern,
})

/**
 * RFC 9700 §2.6: whether a response to a registered URI could be intercepted. Allowed in
 * development mode, for private networks if the application permits it, and for the issuer's own
 * origin if that uses plain HTTP anyway.
 */
export function isInterceptable(
  application: RedirectSettings,
  uri: string,
  issuer: string,
): boolean {
  const { protocol, hostname, origin } = new URL(uri)
  if (protocol !== "http:" || application.devMode || isLoopback(hostname)) return false
  if (application.privateHttp && isPrivateHost(hostname)) return false
  return origin !== new URL(issuer).origin
}

// Hosts in the form of `URL`: lower case, IPv4 as four decimals, IPv6 compressed in brackets.

/**
 * Whether a URL host is this machine: the loopback interface, by address or as localhost (RFC 8252
 * §7.3 and §8.3).
 */
export const isLoopback = (host: string) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host)

/**
 * Whether responses stay on the user's device: native applications receive them by a custom scheme
 * or on the loopback interface (RFC 8252 §7.1, §7.3).
 */
export function isOnDevice(uri: string): boolean {
  const { protocol, hostname } = new URL(uri)
  return protocol === "http:" ? isLoopback(hostname) : protocol !== "https:"
}

/** RFC 1918, RFC 3927, RFC 4193 and RFC 4291 §2.5.6, and names that no public server has. */
const isPrivateHost = (host: string) => privateHosts.some((pattern) => pattern.test(host))

const privateHosts = [
  /^10(\.\d+){3}$/,
  /^172\.(1[6-9]|2\d|3[01])(\.\d+){2}$/,
  /^(192\.168|169\.254)(\.\d+){2}$/,
  /^\[(f[cd]|fe[89ab])[\da-f:.]*\]$/,
  /^[a-z\d_-]+$/,
  /.\.(lan|home|home\.arpa|internal|local|localdomain)$/,
]
