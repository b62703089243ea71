import { Fault } from "../kernel/fault.ts"
import { tooLargeError } from "../protocol/body.ts"
import type { Store } from "../store/index.ts"
import { servedAt } from "./host.ts"
import { routeOf } from "./visit.ts"

/**
 * The wall behind the limits of the modules, which refuse in words what declares itself too large
 * and count what does not.
 */
const bodyBytesMax = 16 * 1024 * 1024

/**
 * Of what grows in the head of a request: its address, cookies and credentials. A head that is
 * twice as large, the listener refuses without a word.
 */
export const headBytesMax = 16 * 1024

/** The address of a request; or why nobody should look at it, whatever it asks. */
export function addressOf(request: Request): URL | Fault {
  const address = URL.parse(request.url) ?? undefined
  return address ? (faultIn(request) ?? address) : malformedError()
}

function faultIn({ url, headers }: Request): Fault | undefined {
  // Bun joins several Host headers, and gives no address for what is no host's name.
  if (headers.get("host")?.includes(",")) return malformedError()
  if (Number(headers.get("content-length")) > bodyBytesMax) return tooLargeError(bodyBytesMax)
  const cookie = headers.get("cookie")?.length ?? 0
  const authorization = headers.get("authorization")?.length ?? 0
  // To look at all headers would cost more than most answers; no other is taken apart.
  return url.length + cookie + authorization > headBytesMax ? headTooLargeError() : undefined
}

/** RFC 9112 §3.2: 400, whatever else the request says. */
const malformedError = () =>
  new Fault("invalid_argument", "request.host_malformed", "the Host header is not a host's name")

const headTooLargeError = () =>
  new Fault(
    "resource_exhausted",
    "request.head_too_large",
    `address and headers hold more than ${headBytesMax / 1024} kB; remove cookies or parameters`,
  )

type Held = { readonly store: Store }

/** Puts on an answer what all tell browsers. */
export function secured(services: Held, host: string, headers: Headers): void {
  // Fetch §3.6: an answer is never taken for another type than it says.
  headers.set("x-content-type-options", "nosniff")
  // RFC 6797 §6.1. Other names below this one are not ours to speak for.
  if (servedAt(services, host)?.isSecure) {
    headers.set("strict-transport-security", "max-age=31536000")
  }
}

/** The outermost step: puts on an answer what all have, by whatever way it came about. */
export function guarded(services: Held, request: Request, response: Response): Response {
  const { headers } = response
  const host = request.headers.get("host") ?? ""
  secured(services, host, headers)
  const isPage = headers.get("content-type")?.startsWith("text/html")
  if (isPage && (servedAt(services, host)?.isSecure || isTrustworthy(request))) {
    headers.set("cross-origin-opener-policy", openerPolicy(request))
  }
  return response
}

/**
 * Whether the browser trusts the connection, as https or to its own machine: only then it sends
 * this header (Fetch Metadata §2), and heeds the policy. At http://nas.lan it would log an error.
 */
const isTrustworthy = ({ headers }: Request): boolean => headers.has("sec-fetch-dest")

/**
 * Applications open the pages of a sign-in or sign-out in a window of their own, which must still
 * know its opener when it is back at them. That is lost for good on a page that says `same-origin`,
 * or `same-origin-allow-popups`, which is for those who open. No other page of ours is opened so.
 */
const openerPolicy = (request: Request): string =>
  routeOf(request)?.isSignIn ? "unsafe-none" : "same-origin"
