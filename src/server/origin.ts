import type { Peer } from "../kernel/net/address.ts"
import type { Origin } from "./caller.ts"
import type { ServerServices } from "./services.ts"

/**
 * Where a request comes from. Forwarded headers count only from proxies that are trusted, and only
 * for who is limited and logged, never for links.
 */
export function originOf(
  { ids, isProxy }: Pick<ServerServices, "ids" | "isProxy">,
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
    // Made when somebody needs it: most answers don't.
    get requestId() {
      requestId ??= ids.next()
      return requestId
    },
  }
}

/** The first address, from the nearest on, that is not one of our proxies. */
function seenThrough(isProxy: ServerServices["isProxy"], forwarded: string, peer: string): string {
  const chain = forwarded.split(",").map((each) => each.trim())
  const hops = [...chain.filter((each) => each !== ""), peer]
  return hops.findLast((each, at) => at === 0 || !isProxy(each)) ?? peer
}
