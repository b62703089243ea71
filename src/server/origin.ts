import type { Ids } from "../kernel/id.ts"
import type { Peer } from "../kernel/net/address.ts"
import { selfCheckIn } from "../kernel/net/self-check.ts"
import type { Origin } from "./caller.ts"
import type { ServerServices } from "./services.ts"

/**
 * Where a request comes from. Forwarded headers count only from proxies that are trusted, and only
 * for who is limited and logged, never for links.
 */
export function originOf(
  { ids, isProxy }: Pick<ServerServices, "isProxy"> & { readonly ids: Pick<Ids, "next"> },
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

/** The same as `originOf`; the requests of a self-check are named by it. */
export function checkedOrigin(
  services: Pick<ServerServices, "ids" | "isProxy" | "secrets" | "clock">,
  request: Request,
  peer: Peer,
): Origin {
  const { ids, isProxy } = services
  const next = () => (isSignIn(request) && selfCheckIn(services, request.headers)) || ids.next()
  return originOf({ isProxy, ids: { next } }, request, peer)
}

/** A self-check signs a user in and does nothing else: it can't hide what else happens. */
const isSignIn = ({ url }: Request): boolean =>
  /^\/(oauth\/v2|oidc\/v1|ui\/login)\//.test(URL.parse(url)?.pathname ?? "")

/** The first address, from the nearest on, that is not one of our proxies. */
function seenThrough(isProxy: ServerServices["isProxy"], forwarded: string, peer: string): string {
  const chain = forwarded.split(",").map((each) => each.trim())
  const hops = [...chain.filter((each) => each !== ""), peer]
  return hops.findLast((each, at) => at === 0 || !isProxy(each)) ?? peer
}
