import type { AddressSource, Services } from "../kernel/context.ts"
import type { Ids } from "../kernel/id.ts"
import type { Peer } from "../kernel/net/address.ts"
import { findSelfCheckId } from "../protocol/self-check/self-check.ts"
import type { RouteInfo } from "./visit.ts"

/** The origin of a request, before the caller is authenticated. */
export type RequestOrigin = {
  /** The requested host: the Host header, or :authority. */
  readonly host: string
  /** The remote end of the connection: the client or a proxy. */
  readonly peer: string
  /** The client's address, resolved through trusted proxies. */
  readonly address: string
  /** Whether the remote end claims to be a proxy without being trusted. */
  readonly isRelayed?: boolean
  readonly addressSource?: AddressSource
  readonly requestId: string
}

/** Determines whether a peer is a trusted proxy. */
type ProxyTrust = { readonly isProxy: (address: string) => boolean }

/**
 * Returns the origin of a request. Forwarded headers are only used from trusted proxies, and only
 * for limits and logs, never for links.
 */
export function originOf(
  { ids, isProxy }: ProxyTrust & { readonly ids: Pick<Ids, "next"> },
  request: Request,
  peer: Peer,
): RequestOrigin {
  const { headers } = request
  let requestId: string | undefined
  return {
    host: headers.get("host") ?? new URL(request.url).host,
    get peer() {
      return peer()
    },
    get address() {
      const forwarded = headers.get("x-forwarded-for")
      return forwarded === null ? peer() : resolveClientAddress(isProxy, forwarded, peer())
    },
    get isRelayed() {
      const hasForwardedHeader = headers.has("x-forwarded-for") || headers.has("forwarded")
      return hasForwardedHeader && !isProxy(peer())
    },
    get addressSource() {
      const hasForwardedAddress = parseHops(headers.get("x-forwarded-for") ?? "").length > 0
      if (hasForwardedAddress && isProxy(peer())) return "trusted proxy"
      return hasForwardedAddress || headers.has("forwarded") ? "unknown proxy" : "connection"
    },
    // Created on demand: most responses don't need it.
    get requestId() {
      requestId ??= ids.next()
      return requestId
    },
  }
}

/**
 * Like `originOf`, but a self-check's requests get the self-check's ID. The ID is only accepted on
 * sign-in routes, so it can't hide other requests in the log.
 */
export function originWithSelfCheck(
  services: ProxyTrust & Pick<Services, "ids" | "secrets" | "clock">,
  request: Request,
  { peer, route }: { readonly peer: Peer; readonly route: RouteInfo | undefined },
): RequestOrigin {
  const { ids, isProxy } = services
  const next = () => (route?.isSignIn && findSelfCheckId(services, request.headers)) || ids.next()
  return originOf({ isProxy, ids: { next } }, request, peer)
}

/** The first address, from the nearest hop on, that is not a trusted proxy. */
function resolveClientAddress(
  isProxy: ProxyTrust["isProxy"],
  forwarded: string,
  peer: string,
): string {
  const hops = [...parseHops(forwarded), peer]
  return hops.findLast((each, at) => at === 0 || !isProxy(each)) ?? peer
}

/** The addresses in an X-Forwarded-For header, farthest first. */
const parseHops = (forwarded: string): readonly string[] =>
  forwarded
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "")
