import { isNarrow } from "./wildcard.ts"

// How redirect URIs are judged. The server decides by it, and the console shows it while one types.

/** What an application says of itself that its redirect URIs are judged by. */
export type Redirecting = {
  readonly appType: "web" | "user_agent" | "native"
  readonly devMode: boolean
  /** Whether answers may cross a private network over plain http; absent is no. */
  readonly privateHttp?: boolean | undefined
}

/** What keeps an address from being registered at all. */
export type Malformation =
  | "relative"
  | "fragment"
  | "unsafe_scheme"
  | "not_ascii"
  | "wildcard"
  | "wildcard_wide"

/** What is said against one that may be registered. */
export type Concern =
  | "custom_scheme"
  | "http"
  | "http_private"
  | "http_private_allowed"
  | "http_loopback"

export type Judgement =
  | { readonly verdict: "fine" }
  | { readonly verdict: "invalid"; readonly why: Malformation }
  /** A request with it is refused, or works and is advised against. */
  | { readonly verdict: "refused" | "advised"; readonly why: Concern }

export const uriLengthMax = 2048

/** Schemes that a browser would run or show instead of opening an application. */
const unsafeSchemes = new Set(["javascript:", "data:", "vbscript:", "blob:", "file:", "about:"])

/** RFC 6749 §3.1.2: an absolute URI without a fragment. */
export function malformationOf(uri: string, devMode: boolean): Malformation | undefined {
  if (uri.length > uriLengthMax || !URL.canParse(uri) || /[\s\p{Cc}]/u.test(uri)) return "relative"
  if (uri.includes("#")) return "fragment"
  if (unsafeSchemes.has(new URL(uri).protocol)) return "unsafe_scheme"
  // RFC 3986 §2: an address is ASCII; what browsers make of other characters is not compared.
  if (!/^[\x21-\x7e]+$/.test(uri)) return "not_ascii"
  if (!uri.includes("*")) return undefined
  if (!devMode) return "wildcard"
  return isNarrow(uri) ? undefined : "wildcard_wide"
}

/** What becomes of requests with a registered redirect URI, at an issuer. */
export function judge(uri: string, application: Redirecting, issuer: string): Judgement {
  const { appType, devMode } = application
  const malformation = malformationOf(uri, devMode)
  if (malformation) return { verdict: "invalid", why: malformation }
  const { protocol, hostname } = new URL(uri)
  const isNative = appType === "native"
  if (protocol === "https:") return fine
  if (protocol !== "http:") return isNative ? fine : advised("custom_scheme")
  if (isLoopback(hostname)) return isNative || devMode ? fine : advised("http_loopback")
  const isPrivate = isPrivateHost(hostname)
  if (isExposed(application, uri, issuer)) {
    return { verdict: "refused", why: isPrivate ? "http_private" : "http" }
  }
  return advised(isPrivate ? "http_private_allowed" : "http")
}

const fine: Judgement = { verdict: "fine" }
const advised = (why: Concern): Judgement => ({ verdict: "advised", why })

/**
 * RFC 9700 §2.6: whether an answer could be read on its way to a registered address. Development
 * mode allows that, and an application may for private networks; and who comes to us by plain http
 * has nothing more to lose at our own origin.
 */
export function isExposed(application: Redirecting, uri: string, issuer: string): boolean {
  const { protocol, hostname, origin } = new URL(uri)
  if (protocol !== "http:" || application.devMode || isLoopback(hostname)) return false
  if (application.privateHttp && isPrivateHost(hostname)) return false
  return origin !== new URL(issuer).origin
}

// Hosts as `URL` writes them: in small letters, IPv4 as four decimals, IPv6 shortened in brackets.

/**
 * Whether a host of a URL is this machine: the loopback interface, by address or by its usual name
 * (RFC 8252 §7.3 and §8.3).
 */
export const isLoopback = (host: string) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host)

/**
 * Whether what is sent there stays on the person's own device: a native application gets it by a
 * scheme of its own or on the loopback interface (RFC 8252 §7.1, §7.3).
 */
export function isOnDevice(uri: string): boolean {
  const { protocol, hostname } = new URL(uri)
  return protocol === "http:" ? isLoopback(hostname) : protocol !== "https:"
}

/** RFC 1918, RFC 3927, RFC 4193 and RFC 4291 §2.5.6; and names that no public server has. */
const isPrivateHost = (host: string) => privateHosts.some((form) => form.test(host))

const privateHosts = [
  /^10(\.\d+){3}$/,
  /^172\.(1[6-9]|2\d|3[01])(\.\d+){2}$/,
  /^(192\.168|169\.254)(\.\d+){2}$/,
  /^\[(f[cd]|fe[89ab])[\da-f:.]*\]$/,
  /^[a-z\d_-]+$/,
  /.\.(lan|home|home\.arpa|internal|local|localdomain)$/,
]
