import { instanceAt, requireInstance } from "../domain/instance/index.ts"
import type { Peer } from "../kernel/net/address.ts"
import { hostName } from "../kernel/net/host.ts"
import type { ServerServices } from "./services.ts"

const header = "x-core-instance-host"

/** Whether a request says that it is for another instance than its host's; see `asMeant`. */
export const namesInstance = ({ headers }: Request): boolean => headers.has(header)

/**
 * The request as it is meant: for the instance that a header or the path names. A proxy that asks
 * whether to let somebody through can name it by nothing but the path (see forward-auth), and
 * whoever does learns no more than under the host itself.
 */
export function asMeant(
  services: Pick<ServerServices, "store" | "isProxy">,
  request: Request,
  peer: Peer,
): Request {
  const { url } = request
  const isAsked = url.includes("/forward-auth/")
  const [, host] = (isAsked && /^https?:\/\/[^/]*\/forward-auth\/([^/?#]+)\//.exec(url)) || []
  if (host === undefined) return asHeaderSays(services, request, peer)
  return instanceAt(services.store, host) === undefined ? request : withHost(request, host)
}

/**
 * The request as it is meant: a proxy that is trusted may name the instance with a header, where
 * people know it by another name that the instance trusts. From anybody else, and for any other
 * name, the header says nothing.
 */
function asHeaderSays(
  { store, isProxy }: Pick<ServerServices, "store" | "isProxy">,
  request: Request,
  peer: Peer,
): Request {
  const named = request.headers.get(header)
  if (named === null || !isProxy(peer())) return request
  const instance = instanceAt(store, named)
  if (instance === undefined) return request
  const requested = request.headers.get("host") ?? new URL(request.url).host
  const name = hostName(requested)
  if (!Object.hasOwn(requireInstance({ store, instance }).trustedDomains, name)) return request
  return withHost(request, named)
}

function withHost(request: Request, host: string): Request {
  const headers = new Headers(request.headers)
  headers.set("host", host)
  headers.delete(header)
  return new Request(request, { headers })
}
