import { Fault } from "../kernel/fault.ts"
import { tooLargeError } from "../protocol/body.ts"
import type { Store } from "../store/index.ts"
import { findInstanceByHost } from "./host.ts"
import { findRoute } from "./visit.ts"

/**
 * The outer limit for request bodies; the modules' own limits are lower and have specific errors.
 */
const maxBodyBytes = 16 * 1024 * 1024

/**
 * Limit for the parts of the request head that vary in size: URL, cookies and credentials. The
 * listener rejects a head of twice this size without an error message.
 */
export const maxHeadBytes = 16 * 1024

/** Returns the URL of a request, or a fault if the request must be rejected before routing. */
export function parseUrl(request: Request): URL | Fault {
  const address = URL.parse(request.url) ?? undefined
  return address ? (findFault(request) ?? address) : malformedError()
}

function findFault({ url, headers }: Request): Fault | undefined {
  // Bun joins several Host headers, and returns no URL for an invalid host name.
  if (headers.get("host")?.includes(",")) return malformedError()
  if (Number(headers.get("content-length")) > maxBodyBytes) return tooLargeError(maxBodyBytes)
  const cookie = headers.get("cookie")?.length ?? 0
  const authorization = headers.get("authorization")?.length ?? 0
  // Checking all headers would cost more than most responses; no others are parsed.
  return url.length + cookie + authorization > maxHeadBytes ? headTooLargeError() : undefined
}

/** RFC 9112 §3.2: 400, regardless of the rest of the request. */
const malformedError = () =>
  new Fault(
    "invalid_argument",
    "request.host_malformed",
    "the Host header is not a valid host name",
  )

const headTooLargeError = () =>
  new Fault(
    "resource_exhausted",
    "request.head_too_large",
    `URL and headers are larger than ${maxHeadBytes / 1024} kB; remove cookies or parameters`,
  )

type GuardServices = { readonly store: Store }

/** Sets the security headers that all responses have. */
export function setSecurityHeaders(services: GuardServices, host: string, headers: Headers): void {
  // Fetch §3.6: browsers must not guess another content type.
  headers.set("x-content-type-options", "nosniff")
  // RFC 6797 §6.1. Without includeSubDomains: subdomains may belong to others.
  if (findInstanceByHost(services, host)?.isSecure) {
    headers.set("strict-transport-security", "max-age=31536000")
  }
}

/** The outermost step: adds the common headers to every response. */
export function withCommonHeaders(
  services: GuardServices,
  request: Request,
  response: Response,
): Response {
  const { headers } = response
  const host = request.headers.get("host") ?? ""
  setSecurityHeaders(services, host, headers)
  const isPage = headers.get("content-type")?.startsWith("text/html")
  if (isPage && (findInstanceByHost(services, host)?.isSecure || isTrustworthy(request))) {
    headers.set("cross-origin-opener-policy", openerPolicy(request))
  }
  return response
}

/**
 * Whether the browser considers the connection trustworthy (HTTPS or localhost): only then does it
 * send this header (Fetch Metadata §2) and apply the policy. At http://nas.lan it would log an
 * error.
 */
const isTrustworthy = ({ headers }: Request): boolean => headers.has("sec-fetch-dest")

/**
 * Applications open sign-in and sign-out pages in a popup, which must keep its opener until it
 * returns to the application. `same-origin` and `same-origin-allow-popups` would cut that link. No
 * other pages are opened in this way.
 */
const openerPolicy = (request: Request): string =>
  findRoute(request)?.isSignIn ? "unsafe-none" : "same-origin"
