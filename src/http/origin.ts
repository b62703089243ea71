import type { AddressSource, Services } from "../kernel/context.ts"
import type { Ids } from "../kernel/id.ts"
import type { Peer } from "../kernel/net/address.ts"
import { selfCheckIn } from "../protocol/self-check/self-check.ts"
import type { RouteInfo } from "./visit.ts"

/** What a request tells about where it came from, before anybody looks at who sent it. */
export type Origin = {
  /** The host that was asked for: the Host header, or :authority. */
  readonly host: string
  /** The other end of the connection: the client, or a proxy. */
  readonly peer: string
  /** The client's address, seen through the proxies that are trusted. */
  readonly address: string
  /** Whether the other end says that it speaks for others, and is no proxy that is trusted. */
  readonly isRelayed?: boolean
  readonly addressSource?: AddressSource
  readonly requestId: string
}

/** What says which of the peers are proxies that are trusted. */
type Trusting = { readonly isProxy: (address: string) => boolean }

/**
 * Where a request comes from. Forwarded headers count only from proxies that are trusted, and only
 * for who is limited and logged, never for links.
 */
export function originOf(
  { ids, isProxy }: Trusting & { readonly ids: Pick<Ids, "next"> },
  request: Request,
  peer: Peer,
): Origin {
  const { headers } = request
  let requestId: string | undefined
  return {
    host: headers.get("host") ?? new URL(request.url).host,
    get peer() {
      return peer()
    },
    get address() {
      const forwarded = headers.get("x-forwarded-for")
      return forwarded === null ? peer() : seenThrough(isProxy, forwarded, peer())
    },
    get isRelayed() {
      const says = headers.has("x-forwarded-for") || headers.has("forwarded")
      return says && !isProxy(peer())
    },
    get addressSource() {
      const isNamed = hopsIn(headers.get("x-forwarded-for") ?? "").length > 0
      if (isNamed && isProxy(peer())) return "trusted proxy"
      return isNamed || headers.has("forwarded") ? "unknown proxy" : "connection"
    },
    // Made when somebody needs it: most answers don't.
    get requestId() {
      requestId ??= ids.next()
      return requestId
    },
  }
}

/**
 * The same as `originOf`; the requests of a self-check are named by it. It signs a user in and does
 * nothing else: it can't hide what else happens.
 */
export function checkedOrigin(
  services: Trusting & Pick<Services, "ids" | "secrets" | "clock">,
  request: Request,
  { peer, route }: { readonly peer: Peer; readonly route: RouteInfo | undefined },
): Origin {
  const { ids, isProxy } = services
  const next = () => (route?.isSignIn && selfCheckIn(services, request.headers)) || ids.next()
  return originOf({ isProxy, ids: { next } }, request, peer)
}

/** The first address, from the nearest on, that is not one of our proxies. */
function seenThrough(isProxy: Trusting["isProxy"], forwarded: string, peer: string): string {
  const hops = [...hopsIn(forwarded), peer]
  return hops.findLast((each, at) => at === 0 || !isProxy(each)) ?? peer
}

/** The addresses that a header names, the farthest first. */
const hopsIn = (forwarded: string): readonly string[] =>
  forwarded
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "")
